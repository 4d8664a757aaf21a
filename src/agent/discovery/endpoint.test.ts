import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseEndpoint } from "./endpoint.ts";
import { JoinError } from "../../credentials/join-error.ts";

describe("an endpoint", () => {
  test.each([
    ["hub:6443", "https://hub:6443", "hub:6443"],
    ["10.0.0.1:6443", "https://10.0.0.1:6443", "10.0.0.1:6443"],
    ["[::1]:6443", "https://[::1]:6443", "[::1]:6443"],
    ["hub.example:443", "https://hub.example", "hub.example:443"],
    ["https://hub.example", "https://hub.example", "hub.example:443"],
    ["https://hub.example:6443/", "https://hub.example:6443", "hub.example:6443"],
    ["HTTPS://hub.example/k8s/clusters/c1/", "https://hub.example/k8s/clusters/c1", "hub.example:443"],
  ])("may be %s", (text, server, shown) => {
    expect(parseEndpoint(text)).toEqual({ server, shown });
  });

  test.each([
    ["", "it is empty"],
    ["hub", "the port is missing, for example hub:6443"],
    ["[::1]", "the port is missing, for example [::1]:6443"],
    ["::1:6443", "it is no host and port"],
    ["hub:0", "the host or the port is not valid"],
    ["hub:65536", "the host or the port is not valid"],
    ["hub:6443/path", "it is no host and port"],
    ["hub:64 43", "it is empty, too long or has odd characters"],
    ["http://hub:6443", "a hub is reached by https only"],
    ["ssh://hub:6443", "a hub is reached by https only"],
    ["https://", "it is not a URL"],
    ["https://hub:6443/?a=b", "a query or fragment has no meaning here"],
    ["https://hub:6443/#a", "a query or fragment has no meaning here"],
    ["hub\u001b[31m:6443", "it is empty, too long or has odd characters"],
  ])("bad-endpoint: may not be %j", (text, why) => {
    expect(() => parseEndpoint(text)).toThrow(
      expect.objectContaining({
        code: "bad-endpoint",
        message: expect.stringContaining(`: ${why}`) as string,
      }) as Error,
    );
  });

  test("never shows a password that was put into it", () => {
    expect(() => parseEndpoint("https://admin:hunter2@hub:6443")).toThrow(
      expect.objectContaining({
        message: "the endpoint must not contain a user or a password: give host:port",
      }) as Error,
    );
  });

  test("is a plain https URL, or refused, whatever was typed", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.webUrl(),
          fc.tuple(fc.domain(), fc.nat()).map(([host, port]) => `${host}:${port}`),
        ),
        (text) => {
          const outcome = outcomeOf(text);
          expect(outcome instanceof JoinError ? outcome.code : outcome).toSatisfy(isPlainUrl);
        },
      ),
      { numRuns: 200 },
    );
  });
});

function outcomeOf(text: string): string | JoinError {
  try {
    return parseEndpoint(text).server;
  } catch (error) {
    if (error instanceof JoinError) return error;
    throw error;
  }
}

function isPlainUrl(outcome: string): boolean {
  if (outcome === "bad-endpoint") return true;
  const url = new URL(outcome);
  return url.protocol === "https:" && [url.username, url.password, url.search, url.hash].join("") === "";
}
