// Serves an index from an S3 bucket behind CloudFront as index/hosts/nginx.conf does with nginx: one function for both
// viewer-request and viewer-response, runtime cloudfront-js-2.0. The address is chosen before the cache is asked, so its
// key needs no header. Objects simple/**/index.json need the type application/vnd.pypi.simple.v1+json, and all but wheels
// and their metadata Cache-Control: public, max-age=600; switch "compress objects automatically" on.
// https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/functions-event-structure.html

const SIMPLE = "application/vnd.pypi.simple.";
const JSON_NAMES = [`${SIMPLE}v1+json`, `${SIMPLE}latest+json`];
const HTML_NAMES = ["text/html", "text/*", `${SIMPLE}v1+html`, `${SIMPLE}latest+html`, "application/*", "*/*"];
const PAGE = /^(?:\/[^/]+)*\/simple\/(?:[^/]+\/)?$/;
const OF_ONE_FORM = /^((?:\/[\w.-]+)*\/simple)\/v1(?:\+|%2B)(json|html)\/([\w.-]+\/)?$/i;

// The page for a client, by its Accept header; JSON is only for clients that name it, and wins at equal weights.
function wanted(accept) {
  const weights = {};
  for (const range of (accept || "*/*").toLowerCase().split(",")) {
    const parts = range.split(";").map((part) => part.trim());
    const weight = parts.slice(1).find((each) => each.startsWith("q="));
    weights[parts[0]] = weight && /^q=[01](\.\d{0,3})?$/.test(weight) ? Number(weight.slice(2)) : 1;
  }
  const best = (names) => Math.max(0, ...names.filter((name) => name in weights).map((name) => weights[name]));
  if (best(JSON_NAMES) && best(JSON_NAMES) >= best(HTML_NAMES)) return "index.json";
  return best(HTML_NAMES) ? "index.html" : null;
}

function handler(event) {
  const request = event.request;
  if (event.context.eventType === "viewer-response") {
    if (request.uri.includes("/simple/")) event.response.headers.vary = { value: "Accept, Accept-Encoding" };
    return event.response;
  }
  const address = request.uri.match(OF_ONE_FORM);
  if (address) {
    const location = `${address[1]}/${address[3] || ""}index.${address[2].toLowerCase()}`;
    return { statusCode: 302, statusDescription: "Found", headers: { location: { value: location } } };
  }
  if (PAGE.test(request.uri)) {
    const page = wanted(request.headers.accept && request.headers.accept.value);
    if (!page) return { statusCode: 406, statusDescription: "Not Acceptable", headers: { vary: { value: "Accept" } } };
    request.uri += page;
  } else if (request.uri.endsWith("/")) {
    request.uri += "index.html";
  }
  return request;
}
