import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { KubeconfigError, mergeKubeconfigs, parseKubeconfig } from "./kubeconfig.ts";

const text = `
apiVersion: v1
kind: Config
current-context: b
preferences: {}
clusters:
- name: hub
  cluster:
    server: https://hub:6443
    certificate-authority: pki/ca.crt
    extensions: [{name: x, extension: {a: 1}}]
contexts:
- name: b
  context: {cluster: hub, user: u}
- name: empty
users:
- name: u
  user:
    client-certificate: /abs/current.pem
    client-key: ../current.pem
    token: 123456.0123456789012345
- name: plugin
  user:
    auth-provider: {name: gcp}
- name: quiet
  user: {exec: null, username: "", as-groups: [], as-user-extra: {}}
`;

describe("parseKubeconfig", () => {
  const config = parseKubeconfig(text, "/etc/pratique/hub.conf");

  it("finds clusters, users and contexts by name", () => {
    expect(config.currentContext).toBe("b");
    expect(config.clusters.get("hub")?.texts.get("server")).toBe("https://hub:6443");
    expect([...(config.contexts.get("b")?.texts ?? [])]).toEqual([
      ["cluster", "hub"],
      ["user", "u"],
    ]);
    expect(config.contexts.get("empty")?.texts.size).toBe(0);
  });

  it("takes relative paths from the folder of the file", () => {
    expect(config.clusters.get("hub")?.texts.get("certificate-authority")).toBe("/etc/pratique/pki/ca.crt");
    expect(config.users.get("u")?.texts.get("client-certificate")).toBe("/abs/current.pem");
    expect(config.users.get("u")?.texts.get("client-key")).toBe("/etc/current.pem");
    expect(parseKubeconfig(text, "hub.conf").clusters.get("hub")?.texts.get("certificate-authority")).toBe(
      "pki/ca.crt",
    );
  });

  it("keeps a token that looks like a number to the letter", () => {
    expect(config.users.get("u")?.texts.get("token")).toBe("123456.0123456789012345");
  });

  it("notes what it cannot honour, unless that is empty", () => {
    expect(config.users.get("plugin")?.unsupported).toBe("auth-provider");
    expect(config.users.get("quiet")?.unsupported).toBeUndefined();
  });

  it("reads JSON and lists that are null", () => {
    const json = parseKubeconfig('{"kind": "Config",\n\t"clusters": null, "users": [], "current-context": "x"}', "f");
    expect(json.currentContext).toBe("x");
    expect(json.clusters.size).toBe(0);
  });

  it("keeps names such as __proto__ apart", () => {
    const odd = parseKubeconfig("clusters: [{name: __proto__, cluster: {server: https://a}}]", "f");
    expect([...odd.clusters.keys()]).toEqual(["__proto__"]);
  });

  it.each([
    ["text that is no YAML", "a: [", "unparseable", "f: not valid YAML at line 1"],
    ["nothing", "", "unparseable", "f: not exactly one YAML document"],
    ["a list", "- a", "unparseable", "f: not a kubeconfig"],
    ["another kind", "kind: Secret", "wrong-type", "f: kind"],
    ["a mapping for a list", "clusters: {}", "wrong-type", "f: clusters must be a list"],
    ["an entry without a name", "users: [{user: {}}]", "wrong-type", "f: users must hold mappings with a name"],
    ["text for a mapping", "users: [{name: u, user: root}]", "wrong-type", 'f: users["u"].user must be a mapping'],
    [
      "a list for text",
      "users: [{name: u, user: {token: [SECRET]}}]",
      "wrong-type",
      'f: users["u"]: token must be text',
    ],
    [
      "text for a switch",
      "clusters: [{name: c, cluster: {insecure-skip-tls-verify: 'true'}}]",
      "wrong-type",
      'f: clusters["c"].insecure',
    ],
    ["one name twice", "users: [{name: u}, {name: u}]", "conflict", 'f: users["u"] stands there twice'],
    ["nesting without end", "[".repeat(100_000), "unparseable", "f: nested"],
    ["too much", " ".repeat(1_048_577), "unparseable", "f: larger"],
  ])("refuses %s, naming file and field", (_name, wrong, code, message) => {
    expect(() => parseKubeconfig(wrong, "f")).toThrow(KubeconfigError);
    expect(() => parseKubeconfig(wrong, "f")).toThrow(expect.objectContaining({ code }));
    expect(() => parseKubeconfig(wrong, "f")).toThrow(message);
    expect(() => parseKubeconfig(wrong, "f")).toThrow(/^(?!.*SECRET)/s);
  });

  it("keeps the numbers of what is passed on to a credential plugin, and no others", () => {
    const extension = "{name: client.authentication.k8s.io/exec, extension: {port: 443, on: true}}";
    const { clusters } = parseKubeconfig(
      `clusters: [{name: 12, cluster: {server: https://a, extensions: [{name: x}, ${extension}]}}]`,
      "f",
    );
    expect(clusters.get("12")?.execExtension).toEqual({ port: 443, on: true });
  });

  it("throws KubeconfigError or reads, for any text and any JSON", () => {
    const keys = fc.constantFrom(
      "clusters",
      "users",
      "contexts",
      "name",
      "cluster",
      "user",
      "context",
      "token",
      "exec",
      "as-groups",
      "as-user-extra",
      "extensions",
      "client.authentication.k8s.io/exec",
      "__proto__",
    );
    const tree = fc.letrec((tie) => ({
      node: fc.oneof(
        { maxDepth: 4 },
        fc.string(),
        fc.constant(null),
        fc.array(tie("node")),
        fc.dictionary(keys, tie("node")),
      ),
    })).node;
    const any = fc.oneof(
      fc.string({ unit: "binary" }),
      tree.map((value) => JSON.stringify(value)),
    );
    fc.assert(
      fc.property(any, (one) => {
        expect(outcomeOf(one)).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});

describe("mergeKubeconfigs", () => {
  it("lets the first of two entries and of two current contexts count", () => {
    const one = parseKubeconfig("clusters: [{name: a, cluster: {server: https://one}}]", "/x/one");
    const two = parseKubeconfig(
      "current-context: c\nclusters: [{name: a, cluster: {server: https://two}}, {name: b, cluster: {server: https://b}}]",
      "/y/two",
    );
    const merged = mergeKubeconfigs([one, two]);
    expect(merged.file).toBe("/x/one, /y/two");
    expect(merged.currentContext).toBe("c");
    expect(merged.clusters.get("a")?.texts.get("server")).toBe("https://one");
    expect(merged.clusters.get("b")?.where).toBe('/y/two: clusters["b"]');
  });
});

function outcomeOf(text: string): boolean {
  try {
    return parseKubeconfig(text, "f").file === "f";
  } catch (error) {
    return error instanceof KubeconfigError;
  }
}
