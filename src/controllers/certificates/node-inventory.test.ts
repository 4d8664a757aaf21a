import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseIp } from "../../policy/kubernetes/ip-address.ts";
import { hostNameProblem, inventoryOfConfigMap, inventoryOfCsv, ownersByNetwork } from "./node-inventory.ts";

describe("the inventory of nodes", () => {
  test("reads names, addresses and networks between commas and line ends", () => {
    const inventory = inventoryOfConfigMap({
      a: "a.example, 10.0.0.1\n# a comment, 10.0.0.9\r\n2001:DB8::0:1\n10.1.0.0/16,",
    });
    expect([...inventory.problems]).toEqual([]);
    expect([...inventory.ownersOfName]).toEqual([
      ["a", ["a"]],
      ["a.example", ["a"]],
    ]);
    expect([...inventory.ownersOfIp.keys()]).toEqual(["10.0.0.1", "2001:db8::1"]);
    expect(inventory.networks.map(({ node, cidr }) => [node, cidr.bits])).toEqual([["a", 16]]);
  });

  test("reads the same from CSV", () => {
    const inventory = inventoryOfCsv("# node, entries\n\na, a.example ,10.0.0.1\r\nb\n");
    expect([...inventory.ownersOfName.keys()]).toEqual(["a", "a.example", "b"]);
    expect([...inventory.ownersOfIp]).toEqual([["10.0.0.1", ["a"]]]);
  });

  test.each<[string, string]>([
    ["*.example", '"*.example" is not a DNS name in lower case without wildcard'],
    ["A.example", '"A.example" is not a DNS name in lower case without wildcard'],
    ["a.example.", '"a.example." is not a DNS name in lower case without wildcard'],
    ["a b", '"a b" is not a DNS name in lower case without wildcard'],
    ['"a"', String.raw`"\"a\"" is not a DNS name in lower case without wildcard`],
    ["10.0.0.256", '"10.0.0.256" ends in a number, as an address does'],
    ["10.0.0.01", '"10.0.0.01" ends in a number, as an address does'],
    ["10.0.0", '"10.0.0" ends in a number, as an address does'],
    ["::ffff:10.0.0.1", '"::ffff:10.0.0.1" is not an address'],
    ["fe80::1%eth0", '"fe80::1%eth0" is not an address'],
    ["10.0.0.1/8", '"10.0.0.1/8" has bits set beyond its length'],
    ["10.0.0.0/33", '"10.0.0.0/33" is not a network'],
    ["10.0.0.0/", '"10.0.0.0/" is not a network'],
  ])("names the entry %j that is none", (entry, problem) => {
    const inventory = inventoryOfConfigMap({ a: `a.example,${entry}` });
    expect([...inventory.problems]).toEqual([["a", [problem]]]);
  });

  test("names a node that is none, or is listed twice", () => {
    expect([...inventoryOfConfigMap({ A_B: "10.0.0.1" }).problems]).toEqual([
      ["A_B", ['"A_B" is not the name of a node']],
    ]);
    expect([...inventoryOfCsv("a,10.0.0.1\na,10.0.0.2").problems]).toEqual([["a", ["the node is listed twice"]]]);
  });

  test("takes keys of objects for plain names", () => {
    const data = JSON.parse('{"__proto__":"10.0.0.1","constructor":"10.0.0.2"}') as Record<string, string>;
    const inventory = inventoryOfConfigMap(data);
    expect([...inventory.problems.keys()]).toEqual(["__proto__"]);
    expect(inventory.ownersOfIp.get("10.0.0.2")).toEqual(["constructor"]);
  });

  test("gives what is written of an address back to its node, and never throws", () => {
    const octet = fc.integer({ min: 0, max: 255 });
    fc.assert(
      fc.property(fc.tuple(octet, octet, octet, octet), fc.string({ maxLength: 40 }), (octets, noise) => {
        const text = octets.join(".");
        const inventory = inventoryOfConfigMap({ a: `${noise.replaceAll("#", "")}\n${text}` });
        expect(inventory.ownersOfIp.get(text)).toContain("a");
      }),
      { numRuns: 200 },
    );
  });

  test("reads CSV and ConfigMap alike, whatever the entries are", () => {
    const entry = fc.oneof(fc.domain(), fc.ipV4(), fc.ipV6(), fc.string({ maxLength: 12 }));
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 5 }), (entries) => {
        const plain = entries.map((one) => one.replaceAll(/[\r\n#]/g, ""));
        expect(inventoryOfCsv(`a,${plain.join(",")}`)).toEqual(inventoryOfConfigMap({ a: plain.join(",") }));
      }),
      { numRuns: 200 },
    );
  });

  test("knows whose a network is, each owner once", () => {
    const inventory = inventoryOfConfigMap({ a: "10.0.0.0/8,10.0.0.0/16", b: "10.0.0.0/24,::/0" });
    const parsed = parseIp("10.0.0.1");
    if (!("ip" in parsed)) throw new TypeError(parsed.problem);
    expect(ownersByNetwork(inventory, parsed.ip)).toEqual(["a", "b"]);
  });
});

test.each<[string, boolean]>([
  ["node-1.example", true],
  ["1.example", true],
  ["node-1", true],
  ["10.0.0.1", false],
  ["0x7f.0x1", false],
  ["node.123", false],
  ["", false],
  ["*", false],
  ["ex_ample", false],
])("%j is a host name: %s", (name, expected) => {
  expect(hostNameProblem(name) === undefined).toBe(expected);
});
