import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HubError } from "../apimachinery/hub-error.ts";
import { parseServingApproval, readServingApproval } from "./serving-approval.ts";

const head = "apiVersion: pratique.dev/v1alpha1\nkind: ServingApproval\n";
let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "pratique-approval-"));
});

afterAll(() => rm(dir, { recursive: true, force: true }));

async function file(name: string, text: string): Promise<string> {
  const path = join(dir, name);
  await writeFile(path, text);
  return path;
}

describe("readServingApproval", () => {
  test("without a file wants a Node and knows the names of the API", async () => {
    expect(await readServingApproval({ providers: ["dns", "inventory"] }, ["10.0.0.9"])).toEqual({
      providers: ["inventory", "dns"],
      networks: [],
      requireNode: true,
      reserved: ["10.0.0.9"],
    });
  });

  test("takes all of a file, and the inventory that it names", async () => {
    const inventoryFile = await file("nodes.csv", "m1,10.0.0.1\n");
    const configFile = await file(
      "all.yaml",
      `${head}requireNode: false\ninventoryFile: ${inventoryFile}\nreserved: [a.example]\nnetworks: [{ nodes: [m*], cidrs: [10.0.0.0/8], domains: [b.example] }]\n`,
    );
    const read = await readServingApproval({ providers: ["inventory", "networks"], configFile }, ["10.0.0.9"]);
    expect(read).toMatchObject({ requireNode: false, reserved: ["10.0.0.9", "a.example"] });
    expect(read.networks).toMatchObject([{ nodes: ["m*"], domains: ["b.example"], cidrs: [{ bits: 8 }] }]);
    expect(read.inventory?.ownersOfIp.get("10.0.0.1")).toEqual(["m1"]);
  });

  const networks = "networks: [{ nodes: [m], cidrs: [10.0.0.0/8] }]\n";
  test.each<[string, readonly string[], string]>([
    [networks, ["dns", "networks"], "dns proves nothing by itself; name inventory or source-address too"],
    ["", ["networks"], "networks and the field networks in --serving-approval-config come together"],
    [networks, ["inventory"], "networks and the field networks in --serving-approval-config come together"],
    [`${networks}inventoryFile: x\n`, ["networks"], "inventoryFile in --serving-approval-config needs inventory"],
  ])("refuses what does not fit together: %j with %j", async (text, providers, problem) => {
    const configFile = await file("odd.yaml", head + text);
    await expect(readServingApproval({ providers, configFile }, [])).rejects.toThrow(`--serving-approval: ${problem}`);
  });

  test("refuses an inventory with a mistake, and says where it is", async () => {
    const inventoryFile = await file("bad.csv", "m1,10.0.0.1\nm2,10.0.0.999\n");
    const configFile = await file("bad.yaml", `${head}inventoryFile: ${inventoryFile}\n`);
    await expect(readServingApproval({ providers: ["inventory"], configFile }, [])).rejects.toThrow(
      `bad.csv: m2: "10.0.0.999" ends in a number, as an address does`,
    );
  });

  test("refuses a file that is not there", async () => {
    const configFile = join(dir, "nowhere");
    await expect(readServingApproval({ providers: ["inventory"], configFile }, [])).rejects.toThrow(HubError);
  });
});

describe("parseServingApproval", () => {
  test.each<[string, string]>([
    ["kind: ServingApproval", "must be of apiVersion pratique.dev/v1alpha1 and kind ServingApproval"],
    [`${head}requireNodes: true`, 'unknown field "requireNodes"'],
    [`${head}requireNode: "no"`, "requireNode"],
    [`${head}networks: [{ cidrs: [10.0.0.0/8] }]`, "networks[0].nodes: must hold at least one pattern of node names"],
    [
      `${head}networks: [{ nodes: [a] }]`,
      "networks[0].cidrs: must hold at least one network, unless domains are given",
    ],
    [`${head}networks: [{ nodes: [a], cidrs: [10.0.0.1/8] }]`, 'networks[0].cidrs[0]: "10.0.0.1/8": must be a network'],
    [`${head}networks: [{ nodes: [a], cidrs: [10.0.0.1] }]`, 'networks[0].cidrs[0]: "10.0.0.1": must be a network'],
    [`${head}networks: [{ nodes: [a], domains: ["*.x"] }]`, 'networks[0].domains[0]: "*.x": '],
    [`${head}networks: [{ nodes: ["(a|b)*"], domains: [x] }]`, 'networks[0].nodes[0]: "(a|b)*": '],
    [`${head}---\n${head}`, "not exactly one YAML document"],
  ])("refuses %j", (text, problem) => {
    expect(() => parseServingApproval(text, "f")).toThrow(`--serving-approval-config f: ${problem}`);
  });

  test("throws nothing else, whatever is written", () => {
    const value = fc.oneof(
      fc.string(),
      fc.jsonValue().map((one) => JSON.stringify(one)),
    );
    fc.assert(
      fc.property(fc.constantFrom("networks", "reserved", "requireNode", "x"), value, (field, text) => {
        const thrown = thrownBy(() => parseServingApproval(`${head}${field}: ${text}\n`, "f"));
        expect(thrown === undefined || thrown instanceof HubError).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});

function thrownBy(run: () => unknown): unknown {
  try {
    run();
    return undefined;
  } catch (error) {
    return error;
  }
}
