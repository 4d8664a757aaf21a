import type { Query, Reply } from "./exchange.ts";

/** One thing that must be well; it throws or rejects when it is not. Why is for the log, never for the client. */
export interface HealthCheck {
  readonly name: string;
  readonly check: () => Promise<void>;
}

/** The endpoints and which checks each of them runs. */
export type HealthChecks = Readonly<Record<"healthz" | "livez" | "readyz", readonly HealthCheck[]>>;

const ping: HealthCheck = { name: "ping", check: async () => undefined };

/** `/readyz`, `/readyz?verbose&exclude=name`, `/readyz/<name>`. Source: apiserver pkg/server/healthz. */
export async function health(
  endpoint: keyof HealthChecks,
  request: { readonly checks: HealthChecks; readonly query: Query; readonly only: string | undefined },
): Promise<Reply | undefined> {
  const { query, only } = request;
  const all = [ping, ...request.checks[endpoint]];
  if (only !== undefined && !all.some((check) => check.name === only)) return undefined;
  const chosen = only === undefined ? all : all.filter((check) => check.name === only);
  const excluded = new Set(query.getAll("exclude"));
  const lines: string[] = [];
  let failed = false;
  for (const { name, check } of chosen) {
    if (excluded.has(name)) {
      lines.push(`[+]${name} excluded: ok`);
    } else if (await passes(check)) {
      lines.push(`[+]${name} ok`);
    } else {
      failed = true;
      lines.push(`[-]${name} failed: reason withheld`);
    }
  }
  const contentType = "text/plain; charset=utf-8";
  const headers = { "x-content-type-options": "nosniff" };
  if (failed) return { status: 500, contentType, headers, body: `${lines.join("\n")}\n${endpoint} check failed\n` };
  const verbose = query.has("verbose");
  return {
    status: 200,
    contentType,
    headers,
    body: verbose ? `${lines.join("\n")}\n${endpoint} check passed\n` : "ok",
  };
}

async function passes(check: HealthCheck["check"]): Promise<boolean> {
  try {
    await check();
    return true;
  } catch {
    return false;
  }
}
