import type { Query, Reply } from "./http-types.ts";

/** One health check; it rejects on failure. Only the path of this check returns the reason, to authorized clients. */
export interface HealthCheck {
  readonly name: string;
  readonly check: () => Promise<void>;
}

/** The endpoints and which checks each of them runs. */
export type HealthChecks = Readonly<Record<"healthz" | "livez" | "readyz", readonly HealthCheck[]>>;

const ping: HealthCheck = { name: "ping", check: async () => undefined };
const contentType = "text/plain; charset=utf-8";
const nosniff = { "x-content-type-options": "nosniff" };

/**
 * `/readyz`, `/readyz?verbose&exclude=name`, `/readyz/<name>`, in the words of kube-apiserver. The last one returns the reason of a failure:
 * `system:monitoring` may read it, anonymous clients may not. `only` is what follows the endpoint and a slash, undefined where nothing
 * does. Source: apiserver pkg/server/healthz.
 */
export async function health(
  endpoint: keyof HealthChecks,
  request: { readonly checks: HealthChecks; readonly query: Query; readonly only: string | undefined },
): Promise<Reply> {
  const all = [ping, ...request.checks[endpoint]];
  return request.only === undefined
    ? summary(endpoint, all, request.query)
    : single(all.find((check) => check.name === request.only));
}

async function single(check: HealthCheck | undefined): Promise<Reply> {
  if (check === undefined) return { status: 404, contentType, headers: nosniff, body: "404 page not found\n" };
  const reason = await failureOf(check);
  if (reason === undefined) return { status: 200, contentType, body: "ok" };
  return { status: 500, contentType, headers: nosniff, body: `internal server error: ${reason}\n` };
}

async function summary(endpoint: string, all: readonly HealthCheck[], query: Query): Promise<Reply> {
  const excluded = new Set(query.getAll("exclude"));
  const lines: string[] = [];
  let failed = false;
  for (const each of all) {
    const { name } = each;
    if (excluded.has(name)) {
      lines.push(`[+]${name} excluded: ok`);
    } else if ((await failureOf(each)) === undefined) {
      lines.push(`[+]${name} ok`);
    } else {
      failed = true;
      lines.push(`[-]${name} failed: reason withheld`);
    }
  }
  const unknown = [...excluded].filter((name) => !all.some((check) => check.name === name)).toSorted();
  if (unknown.length > 0) {
    const names = unknown.map((name) => JSON.stringify(name)).join(",");
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
  }
  const report = `${lines.join("\n")}\n${endpoint} check ${failed ? "failed" : "passed"}\n`;
  const body = failed || query.has("verbose") ? report : "ok";
  return { status: failed ? 500 : 200, contentType, headers: nosniff, body };
}

/** Why a check fails; undefined for one that passes. */
async function failureOf(check: HealthCheck): Promise<string | undefined> {
  try {
    await check.check();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
