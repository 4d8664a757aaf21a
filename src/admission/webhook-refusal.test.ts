import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../apimachinery/json-value.ts";
import { webhookRefusal } from "./webhook-ask.ts";

describe("a refusal", () => {
  it.each<[JsonObject | undefined, number, string | undefined, string]>([
    [undefined, 400, undefined, 'admission webhook "w" denied the request without explanation'],
    [{ message: "m", reason: "r" }, 400, "r", 'admission webhook "w" denied the request: m'],
    [{ reason: "r" }, 400, "r", 'admission webhook "w" denied the request: r'],
    [{ code: 399 }, 400, undefined, 'admission webhook "w" denied the request without explanation'],
    [{ code: 403, message: "m" }, 403, undefined, 'admission webhook "w" denied the request: m'],
    [{ code: "403" }, 400, undefined, 'admission webhook "w" denied the request without explanation'],
  ])("of %j is %i %s", (status, code, reason, message) => {
    const made = webhookRefusal("w", status).toStatus();
    expect([made.code, made.reason, made.message]).toEqual([code, reason, message]);
  });

  it("keeps details that are of the right form", () => {
    const details = {
      name: "n",
      kind: 7,
      causes: [{ message: "c", field: "f", reason: 1 }, "x"],
      retryAfterSeconds: 5,
    };
    expect(webhookRefusal("w", { details }).toStatus().details).toEqual({
      name: "n",
      causes: [{ reason: "", message: "c", field: "f" }],
      retryAfterSeconds: 5,
    });
  });

  it("of whatever JSON is an error of the client or the server, and a failure", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom("code", "reason", "message", "details", "status"), fc.jsonValue()),
        (status) => {
          const made = webhookRefusal("w", status).toStatus();
          expect(made.code).toBeGreaterThanOrEqual(400);
          expect(made.code).toBeLessThan(600);
          expect(made.status).toBe("Failure");
        },
      ),
      { numRuns: 200 },
    );
  });
});
