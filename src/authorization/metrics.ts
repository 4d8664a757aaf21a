import { Counter, Gauge, Histogram, Registry } from "../metrics/library.ts";

/** The outcome of one call to a webhook. */
export type WebhookResult = "success" | "timeout" | "error";

/** What the authorizers count. */
export interface AuthorizationMetrics {
  readonly decided: (authorizer: { readonly type: string; readonly name: string }, verdict: "allow" | "deny") => void;
  readonly asked: (webhook: string, result: WebhookResult, seconds: number) => void;
  readonly failedOpen: (webhook: string) => void;
  readonly excluded: (webhook: string) => void;
  readonly reloaded: (status: "success" | "failure", now: number) => void;
  /** Prometheus text. */
  readonly text: () => Promise<string>;
}

/** Kubernetes uses the hash of the ID of each server; a hub is one server. */
const serverIdHash = "sha256:pratique";

/** Counters under the names that Kubernetes gives them. Source: apiserver pkg/authorization/metrics, pkg/server/options/authorizationconfig/metrics. */
export function authorizationMetrics(): AuthorizationMetrics {
  const registry = new Registry();
  const registers = [registry];
  const counter = (name: string, help: string, ...labelNames: string[]): Counter =>
    new Counter({ name: `apiserver_authorization_${name}`, help, labelNames, registers });
  const decisions = counter("decisions_total", "Decisions that ended the chain.", "type", "name", "decision");
  const questions = counter("webhook_evaluations_total", "Questions to authorization webhooks.", "name", "result");
  const failedOpen = counter(
    "webhook_evaluations_fail_open_total",
    "Requests that went on without an answer of a webhook.",
    "name",
    "result",
  );
  const excluded = counter(
    "match_condition_exclusions_total",
    "Requests that conditions kept from a webhook.",
    "name",
    "type",
  );
  const reloads = counter(
    "config_controller_automatic_reloads_total",
    "Changes of the configuration file that were read.",
    "apiserver_id_hash",
    "status",
  );
  const seconds = new Histogram({
    name: "apiserver_authorization_webhook_duration_seconds",
    help: "How long webhooks took to answer.",
    labelNames: ["name", "result"],
    registers,
  });
  const lastReload = new Gauge({
    name: "apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds",
    help: "When the configuration file was last read after a change.",
    labelNames: ["apiserver_id_hash", "status"],
    registers,
  });
  return {
    decided: ({ type, name }, verdict) =>
      decisions.inc({ type, name, decision: verdict === "allow" ? "allowed" : "denied" }),
    asked: (name, result, taken) => {
      questions.inc({ name, result });
      seconds.observe({ name, result }, taken);
    },
    failedOpen: (name) => failedOpen.inc({ name, result: "error" }),
    excluded: (name) => excluded.inc({ name, type: "Webhook" }),
    reloaded: (status, now) => {
      reloads.inc({ apiserver_id_hash: serverIdHash, status });
      lastReload.set({ apiserver_id_hash: serverIdHash, status }, now / 1000);
    },
    text: () => registry.metrics(),
  };
}
