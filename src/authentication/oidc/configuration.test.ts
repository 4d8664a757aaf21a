import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readAuthenticationConfiguration } from "./configuration.ts";

const issuer = { url: "https://id.example", audiences: ["fleet"] };
const username = { claim: "sub", prefix: "x:" };
const jwt = { issuer, claimMappings: { username } };
const file = { apiVersion: "apiserver.config.k8s.io/v1", kind: "AuthenticationConfiguration" };

function errorsOf(value: object): readonly string[] {
  const read = readAuthenticationConfiguration(value, { issuers: ["https://kubernetes.default.svc"] });
  return read.configuration === undefined ? read.errors.map(({ path, message }) => `${path}: ${message}`) : [];
}

const ofJwt = (more: object): readonly string[] => errorsOf({ ...file, jwt: [{ ...jwt, ...more }] });
const ofIssuer = (more: object): readonly string[] => ofJwt({ issuer: { ...issuer, ...more } });
const ofMappings = (more: object): readonly string[] => ofJwt({ claimMappings: { username, ...more } });
const ofRule = (rule: object): readonly string[] => ofJwt({ claimValidationRules: [rule] });

describe("an AuthenticationConfiguration", () => {
  it.each(["v1", "v1beta1", "v1alpha1"])("is read in version %s", (version) => {
    const read = readAuthenticationConfiguration(
      { ...file, apiVersion: `apiserver.config.k8s.io/${version}`, jwt: [jwt], anonymous: { enabled: false } },
      { issuers: [] },
    );
    expect(read.configuration).toEqual({
      issuers: [
        {
          url: "https://id.example",
          audiences: ["fleet"],
          username: { claim: "sub", prefix: "x:" },
          claimRules: [],
          userRules: [],
          extra: [],
        },
      ],
      anonymous: { enabled: false },
    });
  });

  it.each([
    ["of another kind", { ...file, kind: "Config" }, 'kind: Unsupported value: "Config"'],
    ["of no version", { kind: file.kind }, 'apiVersion: Unsupported value: ""'],
    ["with an unknown field", { ...file, jwts: [] }, "jwts: Forbidden: unknown field"],
    ["with a field of another type", { ...file, jwt: {} }, "jwt: Invalid value"],
    ["with two of one issuer", { ...file, jwt: [jwt, jwt] }, "jwt[1].issuer.url: Duplicate value"],
    ["with too many issuers", { ...file, jwt: Array.from({ length: 65 }, () => jwt) }, "jwt: Forbidden: there are 65"],
    [
      "with conditions on anonymous requests that are off",
      { ...file, anonymous: { conditions: [{ path: "/livez" }] } },
      "anonymous.conditions: Invalid value",
    ],
    [
      "with a path that is none",
      { ...file, anonymous: { enabled: true, conditions: [{ path: "livez" }] } },
      "anonymous.conditions[0].path: Invalid value",
    ],
  ])("%s is refused", (_what, value, words) => {
    expect(errorsOf(value).join("\n")).toContain(words);
  });

  it.each([
    ["nothing", { url: "" }, "jwt[0].issuer.url: Required value: URL is required"],
    ["no URL", { url: "id" }, "is not a URL"],
    ["http", { url: "http://id.example" }, "URL scheme must be https"],
    ["a user", { url: "https://u:secret@id.example" }, "URL must not contain a username or password"],
    ["a query", { url: "https://id.example?a=b" }, "URL must not contain a query"],
    ["a fragment", { url: "https://id.example#a" }, "URL must not contain a fragment"],
    ["the hub itself", { url: "https://kubernetes.default.svc" }, "disallowed issuers"],
    ["the same for discovery", { discoveryURL: "https://id.example/" }, "discoveryURL must be different from URL"],
    ["no audience", { audiences: [] }, "at least one jwt[0].issuer.audiences is required"],
    ["an empty audience", { audiences: [""] }, "audience can't be empty"],
    ["two audiences without a policy", { audiences: ["a", "b"] }, "audienceMatchPolicy must be MatchAny"],
    ["an audience twice", { audiences: ["a", "a"], audienceMatchPolicy: "MatchAny" }, "Duplicate value"],
    ["another policy", { audienceMatchPolicy: "MatchAll" }, "must be empty or MatchAny"],
    ["no certificate as CA", { certificateAuthority: "x" }, "is not a certificate in PEM"],
    ["an egress selector", { egressSelectorType: "cluster" }, "there is no egress selector here"],
  ])("refuses an issuer that names %s", (_what, more, words) => {
    expect(ofIssuer(more).join("\n")).toContain(words);
  });

  it("never quotes the password of an address", () => {
    expect(ofIssuer({ url: "https://u:secret@id.example" }).join("\n")).not.toContain("secret");
  });

  it.each([
    ["without claim and expression", ofRule({}), "claim or expression is required"],
    ["with both", ofRule({ claim: "a", expression: "true" }), "claim and expression can't both be set"],
    ["with a message for a claim", ofRule({ claim: "a", message: "m" }), "message can't be set when claim is set"],
    [
      "with a value for an expression",
      ofRule({ expression: "true", requiredValue: "v" }),
      "requiredValue can't be set",
    ],
    ["that is no truth", ofRule({ expression: "'a'" }), "must evaluate to bool"],
    ["of an unknown name", ofRule({ expression: "user.username == ''" }), "compilation failed"],
  ])("refuses a claim rule %s", (_what, errors, words) => {
    expect(errors.join("\n")).toContain(words);
  });

  it.each([
    ["a name that is no text", { username: { expression: "[claims.sub] == []" } }, "must evaluate to string"],
    ["a prefix beside an expression", { username: { expression: "claims.sub", prefix: "p" } }, "prefix can't be set"],
    ["groups without a word on their prefix", { groups: { claim: "groups" } }, "groups.prefix: Required value"],
    ["an id of two sources", { uid: { claim: "a", expression: "claims.a" } }, "claim and expression can't both be set"],
    ["a key without a domain", { extra: [{ key: "a", valueExpression: "'b'" }] }, "domain-prefixed path"],
    ["a key in capitals", { extra: [{ key: "A.example/b", valueExpression: "'b'" }] }, "domain-prefixed path"],
    ["a key of Kubernetes", { extra: [{ key: "k8s.io/b", valueExpression: "'b'" }] }, "reserved"],
    ["a key without a value", { extra: [{ key: "a.example/b" }] }, "valueExpression is required"],
    ["an unproven address", { username: { expression: "claims.email" } }, "claims.email_verified must be used"],
  ])("refuses mappings with %s", (_what, more, words) => {
    expect(ofMappings(more).join("\n")).toContain(words);
  });

  it("takes an address as a name where its proof is looked at somewhere", () => {
    const mapped = { claimMappings: { username: { expression: "claims.email" } } };
    expect(ofJwt({ ...mapped, claimValidationRules: [{ expression: "claims.email_verified == true" }] })).toEqual([]);
    expect(
      ofMappings({ username: { expression: "claims.?email_verified.orValue(false) ? claims.email : claims.sub" } }),
    ).toEqual([]);
  });

  it("reads any value to a configuration or to errors", () => {
    const outcome = (value: unknown): boolean => {
      const read = readAuthenticationConfiguration(value, { issuers: [] });
      return read.configuration !== undefined || read.errors.length > 0;
    };
    expect(() => fc.assert(fc.property(fc.jsonValue(), outcome), { numRuns: 200 })).not.toThrow();
  });
});
