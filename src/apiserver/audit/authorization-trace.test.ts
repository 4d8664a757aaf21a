import { describe, expect, it } from "vitest";
import type { TraceStep } from "../../authorization/chain.ts";
import { traceText } from "./authorization-trace.ts";

const step = (changes: Partial<TraceStep> = {}): TraceStep => ({
  name: "team",
  type: "Webhook",
  verdict: "noOpinion",
  reason: "",
  ...changes,
});

describe("the trace in an audit event", () => {
  it("names who was asked, and the grant that allowed it", () => {
    const grant = {
      binding: { kind: "RoleBinding", namespace: "dev", name: "devs" },
      subject: { kind: "Group", name: "devs" },
      role: { kind: "ClusterRole", name: "view" },
      rule: '{Verbs:["get"]}',
    };
    const text = traceText([
      step({ error: "down", ms: 2.71499 }),
      { name: "RBAC", type: "RBAC", verdict: "allow", reason: "r", grant },
    ]);
    expect(JSON.parse(text)).toEqual([
      { name: "team", type: "Webhook", verdict: "noOpinion", error: "down", ms: 2.71 },
      {
        name: "RBAC",
        verdict: "allow",
        reason: "r",
        binding: "RoleBinding dev/devs",
        role: "ClusterRole view",
        rule: '{Verbs:["get"]}',
      },
    ]);
  });

  it("cuts the words of a webhook that says very much", () => {
    const text = traceText([step({ reason: "x".repeat(100_000), error: "y".repeat(100_000) })]);
    expect(text.length).toBeLessThan(700);
  });

  it("keeps verdicts alone where many say much, and stays JSON", () => {
    const many = Array.from({ length: 64 }, (_, at) => step({ name: `w${at}`, reason: '"'.repeat(256) }));
    const text = traceText(many);
    expect(text.length).toBeLessThanOrEqual(4096);
    expect(JSON.parse(text)).toHaveLength(64);
    const long = Array.from({ length: 64 }, (_, at) => step({ name: `${at}${"n".repeat(300)}` }));
    const short = JSON.parse(traceText(long)) as readonly { readonly name: string }[];
    expect(short.at(-1)?.name).toMatch(/^63n+…$/);
    expect(traceText(long).length).toBeLessThanOrEqual(4096);
  });
});
