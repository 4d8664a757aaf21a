import { describe, expect, test } from "vitest";
import { noSubjectAltNames } from "../../pki/subject-alt-name.ts";
import type { CsrFacts } from "../../pki/signers.ts";
import { parseCidr, type Cidr } from "../../policy/kubernetes/cidr.ts";
import type { CsrView } from "./csr-view.ts";
import { emptyInventory, inventoryOfConfigMap } from "./node-inventory.ts";
import {
  judgeServing,
  namesForDns,
  servingClaim,
  type DnsAnswer,
  type ServingClaim,
  type ServingEvidence,
  type ServingProvider,
} from "./serving-approving-policy.ts";

const sans = { ...noSubjectAltNames, dns: ["node-1"], ip: ["10.0.0.1"] };
const facts: CsrFacts = { subject: { commonName: "system:node:node-1", organizations: ["system:nodes"] }, sans };
const requester = { username: "system:node:node-1", groups: ["system:nodes", "system:authenticated"] };
const csr: CsrView = {
  signerName: "kubernetes.io/kubelet-serving",
  request: "",
  usages: ["digital signature", "server auth"],
  expirationSeconds: undefined,
  requester,
  conditions: [],
  certificate: "",
};

function claimOf(dns: readonly string[], ip: readonly string[], node = "node-1"): ServingClaim {
  const claim = servingClaim(
    { ...csr, requester: { ...requester, username: `system:node:${node}` } },
    {
      subject: { commonName: `system:node:${node}`, organizations: ["system:nodes"] },
      sans: { ...noSubjectAltNames, dns, ip },
    },
  );
  if (typeof claim === "string") throw new TypeError(claim);
  return claim;
}

describe("servingClaim", () => {
  test.each<[string, Partial<CsrView>]>([
    ["an ECDSA key", {}],
    ["an RSA key", { usages: ["key encipherment", "digital signature", "server auth"] }],
  ])("takes what a kubelet asks for with %s", (_, part) => {
    expect(servingClaim({ ...csr, ...part }, facts)).toEqual({
      node: "node-1",
      dns: ["node-1"],
      ips: [{ family: 4, value: 0x0a000001n }],
    });
  });

  const names = (part: Partial<CsrFacts["sans"]>): CsrFacts => ({ ...facts, sans: { ...sans, ...part } });
  const subject = (part: Partial<CsrFacts["subject"]>): CsrFacts => ({
    ...facts,
    subject: { ...facts.subject, ...part },
  });
  const from = (username: string, groups = requester.groups): Partial<CsrView> => ({
    requester: { username, groups },
  });
  const isService = "is one that Services have";
  const isNoName = "is not a DNS name in lower case without wildcard";
  const usages = "usages did not match [digital signature key encipherment server auth]";

  test.each<[string, Partial<CsrView>, CsrFacts, string]>([
    [
      "another signer",
      { signerName: "kubernetes.io/kube-apiserver-client-kubelet" },
      facts,
      "its signer is not kubernetes.io/kubelet-serving",
    ],
    ["a person", from("admin"), facts, "it was not made by a node"],
    ["a token", from("system:bootstrap:abcdef"), facts, "it was not made by a node"],
    ["a prefix in upper case", from("SYSTEM:NODE:node-1"), facts, "it was not made by a node"],
    [
      "a node without name",
      from("system:node:"),
      subject({ commonName: "system:node:" }),
      "it was not made by a node with a proper name",
    ],
    [
      "a node in upper case",
      from("system:node:Node-1"),
      subject({ commonName: "system:node:Node-1" }),
      "it was not made by a node with a proper name",
    ],
    [
      "a node out of its group",
      from("system:node:node-1", ["system:authenticated"]),
      facts,
      "its requester is not in group system:nodes",
    ],
    [
      "another node's common name",
      {},
      subject({ commonName: "system:node:node-2" }),
      "its common name is not that of the node that asks",
    ],
    [
      "a longer common name",
      {},
      subject({ commonName: "system:node:node-10" }),
      "its common name is not that of the node that asks",
    ],
    ["a shorter common name", from("system:node:node-10"), facts, "its common name is not that of the node that asks"],
    [
      "a common name in another case",
      {},
      subject({ commonName: "system:node:NODE-1" }),
      "its common name is not that of the node that asks",
    ],
    [
      "a common name that is no node's",
      {},
      subject({ commonName: "node-1" }),
      "subject common name does not begin with system:node:",
    ],
    ["no organization", {}, subject({ organizations: [] }), "subject organization is not system:nodes"],
    [
      "an organization twice",
      {},
      subject({ organizations: ["system:nodes", "system:nodes"] }),
      "subject organization is not system:nodes",
    ],
    [
      "masters besides",
      {},
      subject({ organizations: ["system:nodes", "system:masters"] }),
      "subject organization is not system:nodes",
    ],
    ["client auth besides", { usages: [...csr.usages, "client auth"] }, facts, usages],
    ["client auth instead", { usages: ["digital signature", "client auth"] }, facts, usages],
    ["no digital signature", { usages: ["key encipherment", "server auth"] }, facts, usages],
    ["cert sign besides", { usages: [...csr.usages, "cert sign"] }, facts, usages],
    ["no usages", { usages: [] }, facts, usages],
    ["a usage twice", { usages: [...csr.usages, "server auth"] }, facts, "a usage is listed twice"],
    ["no names", {}, names({ dns: [], ip: [] }), "DNS or IP subjectAltName is required"],
    ["an e-mail address", {}, names({ email: ["a@b.example"] }), "Email subjectAltNames are not allowed"],
    ["a URI", {}, names({ uri: ["spiffe://a/b"] }), "URI subjectAltNames are not allowed"],
    ["a name of another kind", {}, names({ others: 1 }), "it asks for names that are neither DNS names nor addresses"],
    [
      "too many names",
      {},
      names({ dns: Array.from({ length: 32 }, (_, at) => `n${at}`) }),
      "it asks for more than 32 names",
    ],
    ["a wildcard", {}, names({ dns: ["*.example"] }), `DNS name "*.example" ${isNoName}`],
    ["a bare wildcard", {}, names({ dns: ["*"] }), `DNS name "*" ${isNoName}`],
    ["a name in upper case", {}, names({ dns: ["NODE-1"] }), `DNS name "NODE-1" ${isNoName}`],
    ["a trailing dot", {}, names({ dns: ["node-1."] }), `DNS name "node-1." ${isNoName}`],
    ["an empty name", {}, names({ dns: [""] }), `DNS name "" ${isNoName}`],
    ["an underscore", {}, names({ dns: ["node_1"] }), `DNS name "node_1" ${isNoName}`],
    [
      "an address as a name",
      {},
      names({ dns: ["10.0.0.1"] }),
      'DNS name "10.0.0.1" ends in a number, as an address does',
    ],
    ["whoever asks", {}, names({ dns: ["localhost"] }), 'DNS name "localhost" is that of the requester'],
    ["below localhost", {}, names({ dns: ["a.localhost"] }), 'DNS name "a.localhost" is that of the requester'],
    ["the API", {}, names({ dns: ["kubernetes"] }), `DNS name "kubernetes" ${isService}`],
    ["the API, longer", {}, names({ dns: ["kubernetes.default"] }), `DNS name "kubernetes.default" ${isService}`],
    ["a Service", {}, names({ dns: ["db.prod.svc"] }), `DNS name "db.prod.svc" ${isService}`],
    [
      "a Service by its long name",
      {},
      names({ dns: ["db.prod.svc.corp"] }),
      `DNS name "db.prod.svc.corp" ${isService}`,
    ],
    ["the cluster's domain", {}, names({ dns: ["a.cluster.local"] }), `DNS name "a.cluster.local" ${isService}`],
    [
      "IPv4 in IPv6",
      {},
      names({ ip: ["::ffff:10.0.0.1"] }),
      "address ::ffff:10.0.0.1 is an IPv4 address in the form of IPv6",
    ],
    ["loopback", {}, names({ ip: ["127.0.0.1"] }), "address 127.0.0.1 is not an address of one machine"],
    ["loopback of IPv6", {}, names({ ip: ["::1"] }), "address ::1 is not an address of one machine"],
    ["any address", {}, names({ ip: ["0.0.0.0"] }), "address 0.0.0.0 is not an address of one machine"],
    [
      "link-local, where clouds keep secrets",
      {},
      names({ ip: ["169.254.169.254"] }),
      "address 169.254.169.254 is not an address of one machine",
    ],
    ["multicast", {}, names({ ip: ["224.0.0.1"] }), "address 224.0.0.1 is not an address of one machine"],
    ["broadcast", {}, names({ ip: ["255.255.255.255"] }), "address 255.255.255.255 is not an address of one machine"],
  ])("refuses %s", (_, part, of, why) => {
    expect(servingClaim({ ...csr, ...part }, of)).toBe(why);
  });
});

const cidr = (text: string): Cidr => {
  const parsed = parseCidr(text);
  if ("problem" in parsed) throw new TypeError(parsed.problem);
  return parsed.cidr;
};

const listed = inventoryOfConfigMap({
  "node-1": "node-1.example,10.0.0.1,10.1.0.0/24,192.0.2.9",
  "node-10": "node-10.example,10.0.0.10,10.1.0.10,10.2.0.0/24",
  both: "shared.example,10.0.0.99,10.2.0.0/16",
  twice: "shared.example,10.0.0.99",
  wrong: "10.0.0.7,oops!",
});

function evidence(providers: readonly ServingProvider[], part: Partial<ServingEvidence> = {}): ServingEvidence {
  return {
    providers: new Set(providers),
    inventory: providers.includes("inventory") ? listed : emptyInventory,
    networks: [{ nodes: ["node-*"], cidrs: [cidr("10.0.0.0/8"), cidr("2001:db8::/64")], domains: ["edge.example"] }],
    sourceAddress: "10.0.0.5",
    dns: new Map(),
    reserved: new Set(["192.0.2.9", "10.0.0.200", "hub.edge.example"]),
    others: new Map([
      ["node-2", "node-2"],
      ["10.0.0.2", "node-2"],
    ]),
    ...part,
  };
}

function answer(addresses: readonly string[], names: readonly string[]): DnsAnswer {
  return { addresses, namesOf: new Map(addresses.map((one) => [one, names])) };
}

function outcome(claim: ServingClaim, known: ServingEvidence): string {
  const verdict = judgeServing(claim, known);
  return "proofs" in verdict ? verdict.proofs.map(({ by }) => by).join(" ") : verdict.refusals.join("; ");
}

describe("judgeServing", () => {
  type Row = readonly [what: string, dns: readonly string[], ip: readonly string[], expected: string, node?: string];

  test.each<Row>([
    ["own names and addresses", ["node-1", "node-1.example"], ["10.0.0.1"], "inventory inventory inventory"],
    ["an address of the own network", [], ["10.1.0.5"], "inventory"],
    ["an address of the API that is written down for it", [], ["192.0.2.9"], "inventory"],
    ["another node's address", [], ["10.0.0.10"], 'address 10.0.0.10 is that of node "node-10" in the inventory'],
    [
      "another node's address in the own network",
      [],
      ["10.1.0.10"],
      'address 10.1.0.10 is that of node "node-10" in the inventory',
    ],
    ["another node's name", ["node-10"], ["10.0.0.1"], 'DNS name "node-10" is that of node "node-10" in the inventory'],
    [
      "another node's longer name",
      ["node-10.example"],
      [],
      'DNS name "node-10.example" is that of node "node-10" in the inventory',
    ],
    ["a name below its own", ["a.node-1.example"], [], 'DNS name "a.node-1.example" is not proven by inventory'],
    ["a name above its own", ["example"], [], 'DNS name "example" is not proven by inventory'],
    ["an address beside its own", [], ["10.0.0.11"], "address 10.0.0.11 is not proven by inventory"],
    [
      "one foreign name among its own",
      ["node-1", "db.example"],
      ["10.0.0.1"],
      'DNS name "db.example" is not proven by inventory',
    ],
    [
      "a name listed twice",
      ["shared.example"],
      [],
      'DNS name "shared.example" is that of node "twice" in the inventory',
      "both",
    ],
    [
      "an address listed twice",
      [],
      ["10.0.0.99"],
      'address 10.0.0.99 is that of node "twice" in the inventory',
      "both",
    ],
    [
      "an address of a network listed twice",
      [],
      ["10.2.0.1"],
      'address 10.2.0.1 is that of node "node-10" in the inventory',
      "both",
    ],
    [
      "a sound entry of a wrong record",
      [],
      ["10.0.0.7"],
      'the inventory of this node is wrong: "oops!" is not a DNS name in lower case without wildcard',
      "wrong",
    ],
    ["a node that is not listed", ["node-1000"], [], 'DNS name "node-1000" is not proven by inventory', "node-1000"],
  ])("by inventory: %s", (...row: readonly unknown[]) => {
    const [, dns, ip, expected, node] = row as Row;
    expect(outcome(claimOf(dns, ip, node), evidence(["inventory"]))).toBe(expected);
  });

  test.each<Row>([
    ["the own name and an address", ["node-1", "node-1.edge.example"], ["10.0.0.1"], "networks networks networks"],
    ["an address of IPv6", [], ["2001:db8::5"], "networks"],
    ["an address outside", [], ["11.0.0.1"], "address 11.0.0.1 is not proven by networks"],
    ["an address of IPv6 outside", [], ["2001:db8:0:1::5"], "address 2001:db8:0:1::5 is not proven by networks"],
    ["the API's address", [], ["10.0.0.200"], "address 10.0.0.200 is one of the API itself"],
    ["an address that another node says it has", [], ["10.0.0.2"], 'address 10.0.0.2 is also that of node "node-2"'],
    ["another node's name", ["node-2"], [], 'DNS name "node-2" is also that of node "node-2"'],
    [
      "another node's name in the domain",
      ["node-2.edge.example"],
      [],
      'DNS name "node-2.edge.example" is also that of node "node-2"',
    ],
    ["a longer name", ["node-10"], [], 'DNS name "node-10" is not proven by networks'],
    [
      "a name in another domain",
      ["node-1.evil.example"],
      [],
      'DNS name "node-1.evil.example" is not proven by networks',
    ],
    ["the domain itself", ["edge.example"], [], 'DNS name "edge.example" is not proven by networks'],
    ["the API's name", ["hub.edge.example"], [], 'DNS name "hub.edge.example" is one of the API itself', "node-hub"],
    [
      "a node of no pattern",
      ["other-1"],
      ["10.0.0.1"],
      'DNS name "other-1" is not proven by networks; address 10.0.0.1 is not proven by networks',
      "other-1",
    ],
  ])("by networks: %s", (...row: readonly unknown[]) => {
    const [, dns, ip, expected, node] = row as Row;
    expect(outcome(claimOf(dns, ip, node), evidence(["networks"]))).toBe(expected);
  });

  test.each<[string, readonly string[], readonly string[], string | undefined, string]>([
    ["exactly that address", [], ["10.0.0.5"], "10.0.0.5", "source-address"],
    [
      "the address and a name",
      ["node-1"],
      ["10.0.0.5"],
      "10.0.0.5",
      'DNS name "node-1" is not proven by source-address',
    ],
    ["another address", [], ["10.0.0.6"], "10.0.0.5", "address 10.0.0.6 is not proven by source-address"],
    [
      "an address besides",
      [],
      ["10.0.0.5", "10.0.0.6"],
      "10.0.0.5",
      "address 10.0.0.6 is not proven by source-address",
    ],
    ["the API's address", [], ["10.0.0.200"], "10.0.0.200", "address 10.0.0.200 is one of the API itself"],
    ["another node's address", [], ["10.0.0.2"], "10.0.0.2", 'address 10.0.0.2 is also that of node "node-2"'],
    [
      "a request that came from nowhere",
      [],
      ["10.0.0.5"],
      undefined,
      "address 10.0.0.5 is not proven by source-address",
    ],
  ])("by source address: %s", (...[, dns, ip, sourceAddress, expected]) => {
    expect(outcome(claimOf(dns, ip), evidence(["source-address"], { sourceAddress }))).toBe(expected);
  });

  test("what the inventory says of another node outweighs networks and source address", () => {
    const all = evidence(["inventory", "networks", "source-address"], { sourceAddress: "10.0.0.10" });
    expect(outcome(claimOf([], ["10.0.0.10"]), all)).toBe(
      'address 10.0.0.10 is that of node "node-10" in the inventory',
    );
    expect(outcome(claimOf([], ["10.0.0.77"]), all)).toBe("networks");
  });

  const name = "db.corp.example";
  const dnsRows: readonly [string, readonly ServingProvider[], readonly string[], DnsAnswer, string][] = [
    [
      "both ways, with a listed address",
      ["inventory", "dns"],
      ["10.0.0.1"],
      answer(["10.0.0.1"], [name]),
      "dns inventory",
    ],
    [
      "both ways, with the source address",
      ["source-address", "dns"],
      ["10.0.0.5"],
      answer(["10.0.0.5"], [name]),
      "dns source-address",
    ],
    [
      "alone",
      ["dns"],
      ["10.0.0.1"],
      answer(["10.0.0.1"], [name]),
      "is address 10.0.0.1 in DNS, which nothing but DNS says is this node's",
    ],
    [
      "with a network only",
      ["networks", "dns"],
      ["10.0.0.1"],
      answer(["10.0.0.1"], [name]),
      "is address 10.0.0.1 in DNS, which nothing but DNS says is this node's",
    ],
    [
      "one address too many",
      ["inventory", "dns"],
      ["10.0.0.1"],
      answer(["10.0.0.1", "10.0.0.3"], [name]),
      "is address 10.0.0.3 in DNS, which nothing but DNS says is this node's",
    ],
    [
      "no way back",
      ["inventory", "dns"],
      ["10.0.0.1"],
      answer(["10.0.0.1"], []),
      "is not the name that DNS has for address 10.0.0.1",
    ],
    [
      "another way back",
      ["inventory", "dns"],
      ["10.0.0.1"],
      answer(["10.0.0.1"], ["x.example"]),
      "is not the name that DNS has for address 10.0.0.1",
    ],
    ["nothing", ["inventory", "dns"], ["10.0.0.1"], answer([], []), "has no address in DNS"],
    [
      "not for the address that is asked for",
      ["inventory", "dns"],
      ["10.1.0.5"],
      answer(["10.0.0.1"], [name]),
      "is address 10.0.0.1 in DNS, which nothing but DNS says is this node's",
    ],
  ];
  test.each(dnsRows)("by DNS: %s", (...[, providers, ip, said, expected]) => {
    const known = evidence(providers, { dns: new Map([[name, said]]) });
    expect(outcome(claimOf([name], ip), known)).toContain(expected);
  });
});

describe("namesForDns", () => {
  test.each<[string, readonly ServingProvider[], readonly string[], readonly string[]]>([
    ["what nothing else proves", ["inventory", "dns"], ["10.0.0.1"], ["db.corp.example"]],
    ["nothing where DNS is not asked for", ["inventory"], ["10.0.0.1"], []],
    ["nothing where no address is proven", ["inventory", "dns"], ["10.0.0.10"], []],
    ["nothing for a network's sake", ["networks", "dns"], ["10.0.0.1"], []],
  ])("are %s", (_, providers, ip, expected) => {
    expect(namesForDns(claimOf(["node-1", "db.corp.example"], ip), evidence(providers))).toEqual(expected);
  });
});
