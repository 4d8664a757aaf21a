import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { definition, version } from "../kits/definitions.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import type { Kubectl } from "../kits/kubectl.ts";
import { peerSuite } from "../kits/peers.ts";

let hub: TestHub;
let kubectl: Kubectl;

const fed = (input: object): Kubectl => kubectl.with({ input: JSON.stringify(input) });

const boats = definition({
  plural: "boats",
  kind: "Boat",
  names: { shortNames: ["bt"], categories: ["fleet"] },
  versions: [
    version({
      schema: {
        openAPIV3Schema: {
          type: "object",
          description: "A boat carries people over water.",
          properties: {
            spec: {
              type: "object",
              description: "What is wanted.",
              required: ["crew"],
              properties: {
                crew: { type: "integer", minimum: 1, description: "How many work on it." },
                engine: {
                  type: "object",
                  description: "What drives it.",
                  properties: { power: { type: "integer", description: "In kilowatts." } },
                },
                selector: { type: "string" },
              },
            },
            status: {
              type: "object",
              properties: { crew: { type: "integer" }, phase: { type: "string" } },
            },
          },
        },
      },
      subresources: {
        status: {},
        scale: {
          specReplicasPath: ".spec.crew",
          statusReplicasPath: ".status.crew",
          labelSelectorPath: ".spec.selector",
        },
      },
      additionalPrinterColumns: [
        { name: "Crew", type: "integer", jsonPath: ".spec.crew" },
        { name: "Phase", type: "string", jsonPath: ".status.phase" },
        { name: "Power", type: "integer", jsonPath: ".spec.engine.power", priority: 1 },
        { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
      ],
      selectableFields: [{ jsonPath: ".spec.crew" }, { jsonPath: ".status.phase" }],
    }),
  ],
});

const boat = (name: string, spec: object, metadata: object = {}): object => ({
  apiVersion: "example.com/v1",
  kind: "Boat",
  metadata: { name, ...metadata },
  spec,
});

peerSuite("kubectl", "kubectl with custom resources", () => {
  beforeAll(async () => {
    hub = await startTestHub();
    kubectl = hub.kubectl;
    await fed(boats).ok("apply", "-f", "-");
    await kubectl.ok("wait", "--for=condition=Established", "crd/boats.example.com", "--timeout=40s");
  });

  afterAll(() => hub.close());

  it("knows the kind at once", async () => {
    const lines = (await kubectl.ok("api-resources", "--api-group=example.com", "--no-headers")).split("\n");
    expect(lines[0]?.split(/ +/)).toEqual(["boats", "bt", "example.com/v1", "true", "Boat"]);
  });

  it("explains it, in full and part by part", async () => {
    expect(await kubectl.ok("explain", "boat")).toContain("A boat carries people over water.");
    expect(await kubectl.ok("explain", "boat.spec.engine.power")).toContain("In kilowatts.");
    const all = await kubectl.ok("explain", "boat", "--recursive");
    expect(all).toMatch(/spec\s+<Object> -required-|spec\s+<Object>/);
    expect(all).toMatch(/engine\s+<Object>\s+power\s+<integer>/);
    expect(all).toMatch(/metadata\s+<ObjectMeta>/);
    expect(await kubectl.ok("explain", "crd", "--recursive")).toMatch(/openAPIV3Schema\s+<JSONSchemaProps>/);
  });

  it("applies, changes and shows objects", async () => {
    expect(await fed(boat("one", { crew: 2 })).ok("apply", "-f", "-")).toBe("boat.example.com/one created\n");
    expect(await fed(boat("one", { crew: 2 })).ok("apply", "-f", "-")).toBe("boat.example.com/one unchanged\n");
    expect(await fed(boat("one", { crew: 3, engine: { power: 9 } })).ok("apply", "-f", "-")).toBe(
      "boat.example.com/one configured\n",
    );
    expect(await kubectl.ok("get", "bt", "one")).toMatch(/^NAME +CREW +PHASE +AGE\none +3 +\d+s\n$/);
    expect(await kubectl.ok("get", "bt", "-o", "wide")).toMatch(/CREW +PHASE +POWER +AGE\none +3 +9 +\d+s/);
    expect(await kubectl.ok("get", "fleet", "-o", "name")).toBe("boat.example.com/one\n");
    expect(await kubectl.ok("get", "boat", "one", "-o", "jsonpath={.metadata.generation}")).toBe("2");
  });

  it("refuses unknown fields unless told otherwise", async () => {
    const wrong = boat("wrong", { crew: 1, sails: 3 });
    const { code, err } = await fed(wrong)("apply", "-f", "-");
    expect([code, err]).toEqual([1, expect.stringContaining('strict decoding error: unknown field "spec.sails"')]);
    await fed(wrong).ok("create", "--validate=false", "-f", "-");
    expect(await kubectl.ok("get", "boat", "wrong", "-o", "jsonpath={.spec}")).toBe('{"crew":1}');
    const bad = await fed(boat("bad", { crew: 0 }))("create", "-f", "-");
    expect(bad.err).toBe(
      'The Boat "bad" is invalid: spec.crew: Invalid value: 0: spec.crew in body should be greater than or equal to 1\n',
    );
  });

  it("patches by every type but strategic merge", async () => {
    await fed(boat("p", { crew: 1 })).ok("create", "-f", "-");
    await kubectl.ok("patch", "boat", "p", "--type=merge", "-p", '{"spec":{"crew":5}}');
    await kubectl.ok("patch", "boat", "p", "--type=json", "-p", '[{"op":"add","path":"/spec/selector","value":"a=b"}]');
    expect(await kubectl.ok("get", "boat", "p", "-o", "jsonpath={.spec}")).toBe('{"crew":5,"selector":"a=b"}');
    const refused = await kubectl("patch", "boat", "p", "--type=strategic", "-p", '{"spec":{"crew":6}}');
    expect(refused.err).toContain(
      "application/strategic-merge-patch+json is not supported by example.com/v1, Kind=Boat",
    );
    await kubectl.ok("label", "boat", "p", "colour=red");
    await kubectl.ok("annotate", "boat", "p", "a=b");
    expect(await kubectl.ok("get", "boats", "-l", "colour=red", "-o", "name")).toBe("boat.example.com/p\n");
  });

  it("changes the status alone", async () => {
    await fed(boat("s", { crew: 1 })).ok("create", "-f", "-");
    await kubectl.ok(
      "patch",
      "boat",
      "s",
      "--subresource=status",
      "--type=merge",
      "-p",
      '{"status":{"phase":"Sailing"},"spec":{"crew":9}}',
    );
    await kubectl.ok("wait", "--for=jsonpath={.status.phase}=Sailing", "boat/s", "--timeout=40s");
    expect(await kubectl.json("get", "boat", "s", "-o", "json")).toMatchObject({
      metadata: { generation: 1 },
      spec: { crew: 1 },
      status: { phase: "Sailing" },
    });
    expect(await kubectl.ok("get", "boats", "--field-selector", "status.phase=Sailing", "-o", "name")).toBe(
      "boat.example.com/s\n",
    );
    const unknown = await kubectl("get", "boats", "--field-selector", "spec.sails=1");
    expect(unknown.err).toMatch(/field label not supported: spec\.sails/);
  });

  it("scales", async () => {
    await fed(boat("sc", { crew: 1 })).ok("create", "-f", "-");
    expect(await kubectl.ok("scale", "boat", "sc", "--replicas=4")).toBe("boat.example.com/sc scaled\n");
    expect(await kubectl.ok("get", "boat", "sc", "-o", "jsonpath={.spec.crew} {.metadata.generation}")).toBe("4 2");
    const wrong = await kubectl("scale", "boat", "sc", "--current-replicas=1", "--replicas=2");
    expect(wrong.err).toContain("Expected replicas to be 1, was 4");
  });

  it("replaces with the version that it read, and not with another", async () => {
    await fed(boat("r", { crew: 1 })).ok("create", "-f", "-");
    const read = (await kubectl.json("get", "boat", "r", "-o", "json")) as { spec: object };
    await fed({ ...read, spec: { crew: 2 } }).ok("replace", "-f", "-");
    const stale = await fed({ ...read, spec: { crew: 3 } })("replace", "-f", "-");
    expect(stale.err).toContain("the object has been modified");
    expect(await fed(boat("r", { crew: 7 })).ok("replace", "--force", "-f", "-")).toContain("replaced");
  });

  it("watches", async () => {
    const watching = kubectl.start(
      "get",
      "boats",
      "-w",
      "--output-watch-events",
      "--field-selector",
      "metadata.name=w",
    );
    await fed(boat("w", { crew: 1 })).ok("create", "-f", "-");
    await watching.until(/ADDED +w +1/);
    await kubectl.ok("patch", "boat", "w", "--type=merge", "-p", '{"spec":{"crew":2}}');
    await watching.until(/MODIFIED +w +2/);
    await kubectl.ok("delete", "boat", "w");
    expect(await watching.until(/DELETED +w +2/)).toMatch(/^EVENT +NAME +CREW/);
    await watching.stop();
  });

  it("deletes with dependents, and without them", async () => {
    const uid = async (name: string): Promise<string> =>
      kubectl.ok("get", "boat", name, "-o", "jsonpath={.metadata.uid}");
    const owned = async (owner: string, name: string): Promise<object> =>
      boat(
        name,
        { crew: 1 },
        {
          ownerReferences: [
            {
              apiVersion: "example.com/v1",
              kind: "Boat",
              name: owner,
              uid: await uid(owner),
              blockOwnerDeletion: true,
            },
          ],
        },
      );
    for (const policy of ["background", "foreground", "orphan"]) {
      await fed(boat(`owner-${policy}`, { crew: 1 })).ok("create", "-f", "-");
      await fed(await owned(`owner-${policy}`, `child-${policy}`)).ok("create", "-f", "-");
      await kubectl.ok("delete", "boat", `owner-${policy}`, `--cascade=${policy}`, "--timeout=40s");
    }
    await kubectl.ok("wait", "--for=delete", "boat/child-background", "--timeout=40s");
    expect((await kubectl("get", "boat", "child-foreground")).err).toContain("NotFound");
    expect(await kubectl.ok("get", "boat", "child-orphan", "-o", "jsonpath={.metadata.ownerReferences}")).toBe("");
  });

  it("goes with its namespace", async () => {
    await kubectl.ok("create", "namespace", "harbour");
    await fed(boat("n", { crew: 1 }, { namespace: "harbour" })).ok("create", "-f", "-");
    await kubectl.ok("delete", "namespace", "harbour", "--timeout=40s");
    expect(await kubectl.ok("get", "boats", "-A", "-o", "name")).not.toContain("boat.example.com/n\n");
  });

  describe("that go", () => {
    it("takes its objects with it", async () => {
      await kubectl.ok("delete", "crd", "boats.example.com", "--timeout=40s");
      expect((await kubectl("get", "boats")).err).toContain("the server could not find the requested resource");
      await fed(boats).ok("create", "-f", "-");
      await kubectl.ok("wait", "--for=condition=Established", "crd/boats.example.com", "--timeout=40s");
      expect(await kubectl.ok("get", "boats", "-A", "-o", "name")).toBe("");
    });
  });
});
