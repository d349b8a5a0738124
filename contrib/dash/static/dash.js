"use strict";
// Pages work without this file. With it, what a person does is shown in place, and a page renews itself when the
// server tells that something has happened. A page that is hidden holds no stream and asks for nothing.
(() => {
  const every = 15000; // ms between looks where no stream tells
  let source = null; // the stream, while the page at hand has one
  let from = ""; // its address
  let asked = Date.now(); // when the page was asked for last
  let rest = 0; // before which no stream is opened
  let busy = false;
  let stale = false;

  const main = () => document.querySelector("main");

  // touched says whether somebody is at a form: it keeps what they have typed.
  const touched = (form) =>
    form.contains(document.activeElement) ||
    [...form.elements].some((e) => "defaultValue" in e && e.type !== "hidden" && e.value !== e.defaultValue);

  // put shows another state of the page. Of a renewal, forms that somebody is at, open details and the focus stay.
  const put = (html, renewal) => {
    const next = new DOMParser().parseFromString(html, "text/html");
    const fresh = next.querySelector("main");
    if (!fresh) {
      location.reload(); // the host has answered: somebody is signed out
      return;
    }
    const old = main();
    const active = document.activeElement;
    const inside = active !== old && old.contains(active);
    const at = active && active.id;
    const href = active && active.getAttribute("href");
    if (renewal) {
      for (const form of old.querySelectorAll("form[id]")) { // form.id may be a control of that name
        const same = fresh.querySelector("#" + CSS.escape(form.getAttribute("id")));
        if (same && touched(form)) same.replaceWith(form);
      }
      for (const d of old.querySelectorAll("details[id][open]")) {
        const same = fresh.querySelector("#" + CSS.escape(d.id));
        if (same) same.open = true;
      }
      const note = fresh.querySelector("#said");
      if (note) note.remove();
      const said = old.querySelector("#said");
      if (said) fresh.prepend(said); // what was just done stays to be read
    }
    old.replaceWith(fresh);
    document.title = next.title;
    const nav = document.querySelector("header nav");
    const other = next.querySelector("header nav");
    if (nav && other && nav.innerHTML !== other.innerHTML && !nav.contains(active)) nav.replaceWith(other);
    let focus = document.getElementById("said") || fresh;
    if (renewal) {
      focus = null;
      if (inside) focus = fresh.contains(active) ? active : (at && document.getElementById(at)) || (href && fresh.querySelector(`a[href="${CSS.escape(href)}"]`));
    }
    if (focus) focus.focus({ preventScroll: renewal });
    look();
  };

  // renew asks for the page again, one request at a time.
  const renew = async () => {
    if (busy) {
      stale = true;
      return;
    }
    busy = true;
    asked = Date.now();
    const at = location.href;
    try {
      const answer = await fetch(at, { headers: { Accept: "text/html" } });
      const html = await answer.text();
      if (location.href === at && answer.ok) put(html, true);
    } catch {
      // the server is away: the next look asks again
    } finally {
      busy = false;
    }
    if (stale) {
      stale = false;
      renew();
    }
  };

  // look opens the stream of the page at hand, or closes one that is not wanted.
  const look = () => {
    const want = document.hidden ? "" : main().dataset.live || "";
    if (source && source.readyState === EventSource.CLOSED) {
      source = null;
      rest = Date.now() + every; // it was refused: the page looks now and then
    }
    if (source && want !== from) {
      source.close();
      source = null;
    }
    if (!want || source || Date.now() < rest) return;
    from = want;
    source = new EventSource(want);
    source.addEventListener("changed", renew);
  };

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (form.method !== "post") return;
    event.preventDefault();
    const body = new URLSearchParams(new FormData(form, event.submitter));
    for (const b of form.querySelectorAll("button")) b.disabled = true;
    try {
      const answer = await fetch(form.action, { method: "POST", body });
      const to = new URL(answer.url);
      to.searchParams.delete("said");
      if (answer.redirected && to.href !== location.href) history.pushState(null, "", to);
      put(await answer.text(), false);
    } catch {
      for (const b of form.querySelectorAll("button")) b.disabled = false;
      let note = form.querySelector(".wrong");
      if (!note) form.append((note = Object.assign(document.createElement("p"), { className: "wrong" })));
      note.setAttribute("role", "alert");
      note.textContent = "The server does not answer. Nothing was sent; try again.";
    }
  });
  addEventListener("popstate", () => location.reload());
  document.addEventListener("visibilitychange", look);
  setInterval(() => {
    look();
    if (!document.hidden && main().dataset.live && Date.now() - asked > every) renew();
  }, 2000);
  look();
})();
