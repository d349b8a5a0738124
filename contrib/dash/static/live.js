"use strict";
// Renews the part of a page that changes: when the server says that runs have gone on,
// or else at intervals. A page that is hidden holds no stream and asks for nothing.
(() => {
  let source = null;
  let last = Date.now();
  const part = () => document.querySelector("#part[data-every]");
  const renew = () => {
    last = Date.now();
    part()?.dispatchEvent(new Event("renew"));
  };
  const look = () => {
    const p = part();
    if (!p || document.hidden) {
      source?.close();
      source = null;
      return;
    }
    if (p.dataset.stream && !source) {
      source = new EventSource(p.dataset.stream);
      source.addEventListener("changed", renew);
    }
    const open = source?.readyState === EventSource.OPEN;
    if (Date.now() - last >= 1000 * (open ? 30 : Number(p.dataset.every))) {
      renew();
    }
  };
  setInterval(look, 500);
  document.addEventListener("visibilitychange", look);
  look();
})();
