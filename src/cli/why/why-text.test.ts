import { describe, expect, test } from "vitest";
import { whyText } from "./why-text.ts";

const action = {
  verb: "get",
  group: "",
  version: "v1",
  resource: "pods",
  subresource: "",
  namespace: "dev",
  name: "",
  path: undefined,
};
const source = { verdict: "AccessExplanation", rights: "the server" } as const;

describe("an explanation for people", () => {
  test("begins with the answer", () => {
    const text = whyText({ action, user: undefined, source, status: { allowed: true } });
    expect(text).toBe('yes: you may get pods in namespace "dev"\n');
  });

  test("leaves out who has nothing to say, and says when nobody allowed it", () => {
    const silent = { verdict: "noOpinion", ms: 0.004 };
    const text = whyText({
      action,
      user: { username: "ann", groups: [] },
      source,
      status: {
        allowed: false,
        authorizers: [
          { name: "Masters", type: "Masters", ...silent },
          { name: "team", type: "Webhook", ...silent, ms: 123.4, error: "down" },
          { name: "RBAC", type: "RBAC", ...silent, reason: "a\nb" },
        ],
        toAllow: ["kubectl create role x"],
      },
    });
    expect(text.split("\n")).toEqual([
      'no: ann may not get pods in namespace "dev"',
      "",
      "AUTHORIZER       VERDICT      MS     WHY",
      "team (Webhook)   no opinion   123    ERROR: down",
      "RBAC             no opinion   0.00   a; b",
      "No authorizer allowed it, and a request that no authorizer allows is denied.",
      "",
      "Nothing comes near: no right that was looked at lacks only one thing.",
      "",
      "To allow exactly this, and nothing else:",
      "  kubectl create role x",
      "",
    ]);
  });

  test("escapes whatever a server may send", () => {
    const evil = "\u001b[2J\u202e\n";
    const named = { kind: evil, namespace: evil, name: evil };
    const text = whyText({
      action: { ...action, resource: evil, name: evil },
      user: { username: evil, groups: [evil] },
      source: { ...source, rights: "worked out here" },
      status: {
        allowed: false,
        authorizers: [{ name: evil, type: evil, verdict: evil, reason: evil, error: evil, note: evil }],
        grant: { binding: named, subject: named, role: named, rule: evil },
        nearest: [{ lacks: evil, text: evil }],
        toAllow: [evil],
        notes: [evil],
      },
    });
    for (const character of ["\u001b", "\u202e"]) expect(text).not.toContain(character);
    expect(text).toContain("\\u{1b}");
  });
});
