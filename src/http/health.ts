import type { Query, Reply } from "./exchange.ts";

/** One thing that must be well; it rejects when it is not. The reason is shown by the path of this check alone, to those who may ask it. */
export interface HealthCheck {
  readonly name: string;
  readonly check: () => Promise<void>;
}

/** The endpoints and which checks each of them runs. */
export type HealthChecks = Readonly<Record<"healthz" | "livez" | "readyz", readonly HealthCheck[]>>;

const ping: HealthCheck = { name: "ping", check: async () => undefined };

/**
 * `/readyz`, `/readyz?verbose&exclude=name`, `/readyz/<name>`. The last one names the reason of a failure: `system:monitoring` may ask it,
 * anonymous clients may not. Source: apiserver pkg/server/healthz.
 */
export async function health(
  endpoint: keyof HealthChecks,
  request: { readonly checks: HealthChecks; readonly query: Query; readonly only: string | undefined },
): Promise<Reply | undefined> {
  const { query, only } = request;
  const all = [ping, ...request.checks[endpoint]];
  if (only !== undefined && !all.some((check) => check.name === only)) return undefined;
  const contentType = "text/plain; charset=utf-8";
  const headers = { "x-content-type-options": "nosniff" };
  if (only !== undefined) {
    const reason = await failureOf(all.find((check) => check.name === only));
    if (reason === undefined) return { status: 200, contentType, headers, body: "ok" };
    return { status: 500, contentType, headers, body: `internal server error: ${reason}\n` };
  }
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
  if (failed) return { status: 500, contentType, headers, body: `${lines.join("\n")}\n${endpoint} check failed\n` };
  const verbose = query.has("verbose");
  return {
    status: 200,
    contentType,
    headers,
    body: verbose ? `${lines.join("\n")}\n${endpoint} check passed\n` : "ok",
  };
}

/** Why a check fails; undefined for one that passes. */
async function failureOf(check: HealthCheck | undefined): Promise<string | undefined> {
  try {
    await check?.check();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
