package redact

import (
	b64 "encoding/base64"
	"strings"
)

// Alphabets of tokens.
const (
	hex    = "0-9a-f"
	upper  = "A-Z0-9"
	lower  = "a-z0-9"
	word   = "A-Za-z0-9_"
	dashed = "A-Za-z0-9_-"
	dotted = "A-Za-z0-9_.-"
	base64 = "A-Za-z0-9+/="
	either = "A-Za-z0-9+/=_-" // base64 in both variants
	path   = "A-Za-z0-9_/-"
)

// from returns rules of tokens that begin with one of the marks.
func from(kind, alphabet string, least, most int, marks ...string) []rule {
	var rs []rule
	for _, m := range marks {
		rs = append(rs, rule{Rule: Rule{Kind: kind, Mark: m, Alphabet: alphabet, Min: least, Max: most}})
	}
	return rs
}

// when adds a condition to rules.
func when(ok func(before, after string) bool, rs []rule) []rule {
	for i := range rs {
		rs[i].ok = ok
	}
	return rs
}

// alone says of rules whose marks are short that their tokens do not follow a
// dash, dot, slash or underscore either: cache-key-… is no key of Mailgun.
func alone(rs []rule) []rule {
	for i := range rs {
		rs[i].alone = true
	}
	return rs
}

// inside returns rules of tokens that have the marks within them.
func inside(kind, alphabet string, before, beforeMax, least, most int, marks ...string) []rule {
	rs := from(kind, alphabet, least, most, marks...)
	for i := range rs {
		rs[i].Before, rs[i].BeforeMax = before, beforeMax
	}
	return rs
}

// builtin has the rules alone that are built in.
var builtin = compile(nil)

// builtins are the forms that issuers document, or that their tokens have had
// for years. Lengths are lower than the documented ones where nothing else
// looks so, since issuers make tokens longer, and texts cut them.
var builtins = join(
	// Code, packages, builds.
	from("github_token", "", 16, 0, "ghp_", "gho_", "ghu_", "ghr_"),
	from("github_token", dotted, 16, 0, "ghs_"),
	from("github_token", word, 16, 0, "github_pat_"),
	from("gitlab_token", dotted, 16, 0, "glpat-", "glrt-", "glrtr-"),
	from("gitlab_token", dashed, 16, 0, "gldt-", "glptt-", "glcbt-", "glsoat-", "glimt-", "glagent-", "glft-",
		"glffct-", "gloas-", "glwt-"),
	from("gitlab_token", dashed, 20, 0, "GR1348941"),
	from("atlassian_token", either, 40, 0, "ATATT3x", "ATCTT3x", "ATSTT3x"),
	from("atlassian_token", "", 28, 40, "ATBB"),
	from("npm_token", "", 20, 0, "npm_"),
	from("pypi_token", dashed, 30, 0, "pypi-AgE"),
	from("rubygems_key", hex, 40, 0, "rubygems_"),
	alone(when(isRandom, from("crates_token", "", 32, 32, "cio"))),
	alone(when(withDigit, from("nuget_key", lower, 43, 43, "oy2"))),
	from("clojars_token", hex, 40, 0, "CLOJARS_"),
	from("docker_token", dashed, 20, 0, "dckr_pat_", "dckr_oat_"),
	from("circleci_token", word, 30, 0, "CCIPAT_", "CCIPRJ_"),
	from("buildkite_token", "", 30, 0, "bkua_"),
	from("sonar_token", hex, 40, 40, "squ_", "sqp_", "sqa_"),
	from("sourcegraph_token", word, 40, 0, "sgp_"),
	from("postman_key", "0-9a-f-", 50, 0, "PMAK-"),
	from("jfrog_key", "", 60, 0, "AKCp"),
	from("figma_token", dashed, 30, 0, "figd_"),
	from("linear_key", "", 30, 0, "lin_api_", "lin_oauth_"),
	from("notion_token", "", 43, 43, "secret_"),
	from("notion_token", "", 40, 0, "ntn_"),
	when(isAirtable, from("airtable_token", "A-Za-z0-9.", 79, 79, "pat")),
	from("typeform_token", dashed, 40, 0, "tfp_"),

	// Clouds.
	from("aws_key", upper, 16, 0, "AKIA", "ASIA", "ABIA", "ACCA"),
	from("aws_key", base64, 100, 0, "ABSK"),
	from("aws_key", "0-9a-f-", 36, 36, "amzn.mws."),
	from("google_key", dashed, 30, 0, "AIza"),
	from("google_key", dotted, 20, 0, "ya29."),
	from("google_key", dashed, 20, 0, "GOCSPX-"),
	from("google_key", dashed, 38, 0, "1//0"),
	inside("azure_key", "A-Za-z0-9_.~-", 4, 4, 31, 34, "Q~"),
	inside("azure_key", base64, 33, 86, 6, 12, "+ASt", "ACDb", "+ABa", "+AEh", "+ARm", "+ASb", "AzSe", "AzFu", "AzCa",
		"+ACR", "APIM"),
	inside("azure_key", base64, 52, 52, 20, 32, "JQQJ99"),
	inside("azure_key", "", 76, 76, 4, 4, "AZDO"),
	from("digitalocean_token", hex, 40, 0, "dop_v1_", "doo_v1_", "dor_v1_"),
	from("softlayer_key", hex, 64, 64, "softlayer.com/soap/v3/", "softlayer.com/soap/v3.1/"),
	from("heroku_key", dashed, 36, 0, "HRKU-"),
	from("alibaba_key", "", 12, 26, "LTAI"),
	from("tencent_key", "", 32, 32, "AKID"),
	from("vercel_token", "", 24, 0, "vcp_", "vci_", "vca_", "vcr_", "vck_"),
	from("vercel_token", word, 20, 0, "vercel_blob_rw_"),
	from("netlify_token", "", 36, 0, "nfp_"),
	from("fly_token", ","+either, 40, 0, "fo1_", "fm1_", "fm2_"),
	when(isRandom, from("render_key", "", 28, 0, "rnd_")),
	from("supabase_key", hex, 40, 40, "sbp_"),
	from("supabase_key", dashed, 20, 0, "sb_secret_"),
	from("planetscale_token", dotted, 32, 0, "pscale_tkn_", "pscale_pw_", "pscale_oauth_"),
	from("neon_key", "", 40, 0, "napi_"),
	from("databricks_token", hex, 32, 32, "dapi"),
	from("confluent_key", base64, 60, 0, "cflt"),
	from("tailscale_key", dashed, 16, 0, "tskey-"),
	from("doppler_token", dotted, 40, 0, "dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."),
	alone(from("pulumi_token", hex, 40, 40, "pul-")),
	from("hashicorp_token", dotted, 20, 0, "hvs.", "hvb.", "hvr."),
	inside("hashicorp_token", "A-Za-z0-9_=-", 14, 14, 60, 0, ".atlasv1."),
	from("onepassword_token", "."+either, 60, 0, "ops_eyJ"),
	from("age_key", upper, 50, 0, "AGE-SECRET-KEY-1"),
	from("age_key", upper+"-", 50, 0, "AGE-PLUGIN-"),

	// Models.
	from("anthropic_key", dashed, 8, 0, "sk-ant-"),
	from("openai_key", dashed, 8, 0, "sk-proj-", "sk-svcacct-", "sk-admin-"),
	when(hasKeySegment, from("openai_key", dashed, 8, 0, "sk-")),
	from("huggingface_token", "", 30, 0, "hf_", "api_org_"),
	from("groq_key", "", 30, 0, "gsk_"),
	from("xai_key", dashed, 40, 0, "xai-"),
	from("replicate_token", "", 30, 0, "r8_"),
	from("perplexity_key", "", 40, 0, "pplx-"),
	when(isRandom, from("fireworks_key", "", 20, 0, "fw_")),
	from("nvidia_key", dashed, 40, 0, "nvapi-"),
	alone(from("elevenlabs_key", hex, 48, 48, "sk_")),
	from("jina_key", dashed, 40, 0, "jina_"),
	from("pinecone_key", word, 40, 0, "pcsk_"),
	from("tavily_key", dashed, 20, 0, "tvly-"),
	from("langsmith_key", word, 32, 0, "lsv2_pt_", "lsv2_sk_"),
	when(isRandom, from("voyage_key", dashed, 40, 46, "pa-")),

	// Payment and shops.
	when(isShortKey, from("stripe_key", "", 6, 0, "sk_live_", "sk_test_", "rk_live_", "rk_test_", "pk_live_", "pk_test_")),
	from("stripe_key", base64, 16, 0, "whsec_"),
	from("shopify_token", hex, 30, 0, "shpat_", "shpca_", "shppa_", "shpss_", "shptka_"),
	from("square_token", dashed, 20, 0, "sq0atp-", "sq0csp-", "sq0idb-"),
	alone(when(isRandom, from("square_token", dashed, 56, 64, "EAAA"))),
	from("razorpay_key", "", 14, 0, "rzp_live_", "rzp_test_"),
	from("flutterwave_key", "", 12, 0, "FLWSECK_TEST-", "FLWSECK-"),
	from("easypost_key", "", 54, 54, "EZAK", "EZTK"),
	from("shippo_token", hex, 40, 40, "shippo_live_", "shippo_test_"),
	from("braintree_token", "a-z0-9$", 40, 0, "access_token$production$", "access_token$sandbox$"),
	from("plaid_token", "0-9a-f-", 36, 36, "access-sandbox-", "access-production-", "access-development-"),

	// Messages and mail.
	when(withDigit, from("slack_token", dashed, 10, 0, "xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxc-", "xoxd-",
		"xapp-", "xwfp-")),
	when(withDigit, from("slack_token", dotted, 10, 0, "xoxe.")),
	from("slack_webhook", path, 30, 0, "hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"),
	from("discord_webhook", path, 40, 0, "discord.com/api/webhooks/", "discordapp.com/api/webhooks/"),
	from("teams_webhook", "A-Za-z0-9_/@-", 60, 0, "webhook.office.com/webhookb2/"),
	when(isBotID, inside("telegram_token", dashed, 8, 13, 32, 33, ":AA")),
	alone(from("twilio_key", hex, 32, 32, "SK")),
	when(withDigit, from("sendgrid_key", dotted, 40, 0, "SG.")),
	alone(from("mailgun_key", hex, 32, 32, "key-")),
	inside("mailchimp_key", hex, 32, 32, 1, 2, "-us"),
	from("brevo_key", lower+"-", 64, 0, "xkeysib-", "xsmtpsib-"),
	when(isRandom, from("resend_key", word, 24, 0, "re_")),
	alone(when(isRandom, from("facebook_token", "", 90, 0, "EAA"))),
	alone(when(isRandom, from("twitter_token", "A-Za-z0-9%", 60, 0, "AAAAAAAAAAAAAAAAAAAAA"))),

	from("teams_webhook", "A-Za-z0-9_/@-", 60, 0, "outlook.office.com/webhook/"),
	when(isRandom, from("twitch_key", word, 30, 0, "live_")),
	from("adafruit_key", "", 28, 28, "aio_"),

	// Hashes of passwords, by their crypt formats, and what Kerberos hands out for cracking.
	from("password_hash", "A-Za-z0-9./$=,+", 22, 0, "$1$", "$2a$", "$2b$", "$2y$", "$5$", "$6$", "$8$", "$argon2"),
	from("password_hash", "A-Za-z0-9.@:$*/-", 40, 0, "$krb5asrep$", "$krb5tgs$"),
	from("private_key", either, 60, 0, "LS0tLS1CRUdJTiBQUklWQVRF", "LS0tLS1CRUdJTiBSU0EgUFJJVkFURS",
		"LS0tLS1CRUdJTiBFQyBQUklWQVRF", "LS0tLS1CRUdJTiBPUEVOU1NIIFBSSVZBVE"), // PEM in base64

	// Watching.
	from("newrelic_key", "", 24, 0, "NRAK-", "NRAA-", "NRII-", "NRIQ-", "NRRA-", "NRBR-", "NRSP-"),
	from("newrelic_key", hex, 19, 0, "NRJS-"),
	inside("newrelic_key", hex+"ux", 36, 36, 0, 1, "NRAL"),
	from("sentry_token", either, 40, 0, "sntrys_"),
	from("sentry_token", hex, 40, 0, "sntryu_", "sntrya_", "sntryi_"),
	from("grafana_token", either, 32, 0, "glc_", "eyJrIjoi"),
	from("grafana_token", word, 36, 0, "glsa_"),
	from("dynatrace_token", upper+".", 24, 0, "dt0c01.", "dt0s01.", "dt0s02."),
	from("posthog_key", "", 40, 0, "phx_"),
	from("hubspot_key", hex+"-", 36, 36, "pat-na1-", "pat-eu1-"),
	alone(from("launchdarkly_key", hex+"-", 36, 36, "sdk-", "mob-")),

	when(isJWT, from("jwt", dotted, 16, 0, "eyJ")),
	when(isJWTInBase64, from("jwt", either, 60, 0, "ZXlK")),
)

func join(groups ...[]rule) (all []rule) {
	for _, g := range groups {
		all = append(all, g...)
	}
	return all
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

func withDigit(_, s string) bool { return hasDigit(s) }

func isShortKey(_, s string) bool { return len(s) >= 16 || hasDigit(s) }

// isRandom tells drawn letters from names and words.
func isRandom(_, s string) bool {
	return strings.ContainsAny(s, "0123456789") && strings.ToLower(s) != s && strings.ToUpper(s) != s && entropy(s) >= 3.5
}

// isBotID takes what stands before :AA… in a token of Telegram, in the path of
// its API behind «bot».
func isBotID(before, _ string) bool {
	return strings.Trim(strings.TrimPrefix(before, "bot"), "0123456789") == ""
}

// isAirtable takes the 14 characters, dot and 64 hex digits after pat.
func isAirtable(_, s string) bool {
	return s[14] == '.' && strings.Trim(s[15:], "0123456789abcdef") == "" && strings.IndexByte(s[:14], '.') < 0
}

// isJWT takes what follows eyJ: the rest of the header, then a payload.
func isJWT(_, s string) bool {
	head, rest, ok := strings.Cut(s, ".")
	payload, _, _ := strings.Cut(rest, ".")
	return ok && len(head) >= 6 && len(payload) >= 4
}

// isJWTInBase64 takes what follows ZXlK, which is eyJ in base64, if it decodes to
// the rest of a token.
func isJWTInBase64(_, s string) bool {
	s = strings.TrimRight(s[:min(len(s), 4096)], "=")
	raw, err := b64.RawStdEncoding.DecodeString(s[:len(s)&^3])
	if err != nil {
		raw, err = b64.RawURLEncoding.DecodeString(s[:len(s)&^3])
	}
	return err == nil && isJWT("", string(raw))
}

// hasKeySegment tells sk-… keys from names such as the CSS class
// sk-fading-circle: one part between dashes is long, or has digits and is not
// short.
func hasKeySegment(_, s string) bool {
	if strings.HasPrefix(s, "ecdsa-") || strings.HasPrefix(s, "ssh-") { // types of SSH keys
		return false
	}
	for part := range strings.SplitSeq(s, "-") {
		if len(part) >= 16 || (len(part) >= 8 && hasDigit(part)) {
			return true
		}
	}
	return false
}
