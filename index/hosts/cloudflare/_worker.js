// Serves an index from Cloudflare Pages as index/hosts/nginx.conf does with nginx: put this file, _routes.json and
// _headers beside the site's wheels.json before the upload. Cloudflare compresses by itself.
// https://developers.cloudflare.com/pages/functions/advanced-mode/

const SIMPLE = "application/vnd.pypi.simple.";
const TYPES = [
  // Media types that request each form; JSON is only for clients that name it, and at equal weights the first wins.
  { type: `${SIMPLE}v1+json`, page: "index.json", names: [`${SIMPLE}v1+json`, `${SIMPLE}latest+json`] },
  { type: "text/html", page: "", names: ["text/html", "text/*", "*/*"] },
  { type: `${SIMPLE}v1+html`, page: "", names: [`${SIMPLE}v1+html`, `${SIMPLE}latest+html`, "application/*", "*/*"] },
];
const PAGE = /^(?:\/[^/]+)*\/simple\/(?:[^/]+\/)?$/;
const OF_ONE_FORM = /^((?:\/[\w.-]+)*\/simple)\/v1(?:\+|%2B)(json|html)\/([\w.-]+\/)?$/i;

export function wanted(accept) {
  const weights = {};
  for (const range of (accept || "*/*").toLowerCase().split(",")) {
    const [name, ...parameters] = range.split(";").map((part) => part.trim());
    const weight = parameters.find((each) => each.startsWith("q="));
    weights[name] = weight && /^q=[01](\.\d{0,3})?$/.test(weight) ? Number(weight.slice(2)) : 1;
  }
  let best = { weight: 0 };
  for (const { type, page, names } of TYPES) {
    const weight = weights[names.find((name) => name in weights)] ?? 0;
    if (weight > best.weight) best = { type, page, weight };
  }
  return best.type ? best : null;
}

export default {
  async fetch(request, env) {
    const url = new URL(request.url);
    const address = url.pathname.match(OF_ONE_FORM);
    if (address) {
      // Pages itself leads from index.html to the folder.
      url.pathname = `${address[1]}/${address[3] ?? ""}${address[2].toLowerCase() === "json" ? "index.json" : ""}`;
      return Response.redirect(url, 302);
    }
    let type = url.pathname.endsWith("/index.json") ? TYPES[0].type : null;
    if (PAGE.test(url.pathname)) {
      const best = wanted(request.headers.get("Accept"));
      if (!best) return new Response(null, { status: 406, headers: { Vary: "Accept" } });
      url.pathname += best.page;
      type = best.type;
    }
    const asset = await env.ASSETS.fetch(new Request(url, request));
    const answer = new Response(asset.body, asset);
    answer.headers.append("Vary", "Accept");
    if (asset.ok && type) {
      answer.headers.set("Content-Type", type);
      answer.headers.set("Cache-Control", "public, max-age=600");
    }
    return answer;
  },
};
