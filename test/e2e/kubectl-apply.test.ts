import { afterAll, beforeAll, expect, test } from "vitest";
import { join } from "node:path";
import { writeExecutable } from "../kits/executable.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import type { Kubectl } from "../kits/kubectl.ts";
import { peerSuite } from "../kits/peers.ts";

interface Entry {
  readonly manager: string;
  readonly operation: string;
}

peerSuite("kubectl", "kubectl and the owners of fields", () => {
  let hub: TestHub;
  let kubectl: Kubectl;
  let count = 0;

  beforeAll(async () => {
    hub = await startTestHub();
    ({ kubectl } = hub);
  });

  afterAll(() => hub?.close());

  const fresh = (): string => `kubectl-apply-${(count += 1)}`;
  const manifest = (name: string, data: object, more: object = {}): string =>
    JSON.stringify({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, namespace: "default", ...more },
      data,
    });
  const given = (input: string): Kubectl => kubectl.with({ input });
  const serverSide = (name: string, data: object, ...flags: readonly string[]): ReturnType<Kubectl> =>
    given(manifest(name, data))("apply", "--server-side", ...flags, "-f", "-");

  async function dataOf(name: string): Promise<unknown> {
    return (await kubectl.json("get", "cm", name))["data"];
  }

  async function ownersOf(name: string): Promise<readonly string[]> {
    const { metadata } = await kubectl.json("get", "cm", name, "--show-managed-fields");
    const { managedFields = [] } = metadata as { managedFields?: readonly Entry[] };
    return managedFields.map(({ manager, operation }) => `${manager} ${operation}`).sort();
  }

  test("apply --server-side creates, changes and removes", async () => {
    const name = fresh();
    expect((await serverSide(name, { x: "1", y: "1" })).out).toBe(`configmap/${name} serverside-applied\n`);
    expect((await serverSide(name, { x: "2" })).code).toBe(0);
    expect(await dataOf(name)).toEqual({ x: "2" });
    expect(await ownersOf(name)).toEqual(["kubectl Apply"]);
  });

  test("a conflict is shown with its owner and field, and --force-conflicts goes over it", async () => {
    const name = fresh();
    await serverSide(name, { x: "1" });
    const refused = await serverSide(name, { x: "2" }, "--field-manager=other");
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('Apply failed with 1 conflict: conflict with "kubectl": .data.x');
    expect((await serverSide(name, { x: "2" }, "--field-manager=other", "--force-conflicts")).code).toBe(0);
    expect(await ownersOf(name)).toEqual(["other Apply"]);
  });

  test("what was applied by the client goes over to the server without conflict, and keeps its annotation", async () => {
    const name = fresh();
    await given(manifest(name, { x: "1", y: "1" })).ok("apply", "-f", "-");
    expect(await ownersOf(name)).toEqual(["kubectl-client-side-apply Update"]);
    const { code, err } = await serverSide(name, { x: "2" });
    expect([code, err]).toEqual([0, ""]);
    expect(await dataOf(name)).toEqual({ x: "2" });
    expect(await ownersOf(name)).toEqual(["kubectl Apply", "kubectl-last-applied Apply"]);
    const shown = await kubectl.ok("apply", "view-last-applied", "cm", name, "-o", "json");
    expect(JSON.parse(shown)).toMatchObject({ data: { x: "2" } });
    await given(manifest(name, { x: "3" })).ok("apply", "-f", "-");
    expect(await dataOf(name)).toEqual({ x: "3" });
  });

  test("owners are shown on demand only", async () => {
    const name = fresh();
    await serverSide(name, { x: "1" });
    expect(await kubectl.ok("get", "cm", name, "-o", "yaml")).not.toContain("managedFields");
    expect(await kubectl.ok("get", "cm", name, "-o", "yaml", "--show-managed-fields")).toContain("f:x: {}");
  });

  test("diff --server-side shows what an apply would change, and changes nothing", async () => {
    const name = fresh();
    await serverSide(name, { x: "1" });
    const { code, out } = await given(manifest(name, { x: "2" }))("diff", "--server-side", "-f", "-");
    expect([code, out]).toEqual([1, expect.stringMatching(/-\s+x: "1"\n\+\s+x: "2"/) as string]);
    expect(await dataOf(name)).toEqual({ x: "1" });
    expect((await given(manifest(name, { x: "1" }))("diff", "--server-side", "-f", "-")).code).toBe(0);
  });

  test("the other commands that write keep working beside owners", async () => {
    const name = fresh();
    await given(manifest(name, { x: "1" })).ok("create", "--save-config", "-f", "-");
    await given(manifest(name, { x: "2" })).ok("apply", "-f", "-");
    expect((await given(manifest(name, { x: "3" }))("diff", "-f", "-")).code).toBe(1);
    await kubectl.ok("label", "cm", name, "l=1");
    await kubectl.ok("label", "cm", name, "l=2", "--overwrite");
    await kubectl.ok("annotate", "cm", name, "a=1");
    await kubectl.ok("patch", "cm", name, "--type=merge", "-p", '{"data":{"m":"1"}}');
    await kubectl.ok("patch", "cm", name, "--type=strategic", "-p", '{"data":{"s":"1"}}');
    await kubectl.ok("patch", "cm", name, "--type=json", "-p", '[{"op":"add","path":"/data/j","value":"1"}]');
    expect(await dataOf(name)).toEqual({ x: "2", m: "1", s: "1", j: "1" });
    expect(await ownersOf(name)).toEqual([
      "kubectl-annotate Update",
      "kubectl-client-side-apply Update",
      "kubectl-create Update",
      "kubectl-label Update",
      "kubectl-patch Update",
    ]);
    const whole = await kubectl.ok("get", "cm", name, "-o", "json", "--show-managed-fields");
    await given(whole.replace('"x": "2"', '"x": "9"')).ok("replace", "-f", "-");
    expect(await dataOf(name)).toMatchObject({ x: "9" });
    expect(await ownersOf(name)).toContain("kubectl-replace Update");
  });

  test("edit changes what is edited", async () => {
    const name = fresh();
    await serverSide(name, { x: "1" });
    const editor = join(hub.dir, "editor.sh");
    writeExecutable(editor, '#!/bin/sh\nsed -i "s/x: \\"1\\"/x: \\"2\\"/" "$1"\n');
    await kubectl.with({ env: { KUBE_EDITOR: editor } }).ok("edit", "cm", name);
    expect(await dataOf(name)).toEqual({ x: "2" });
    expect(await ownersOf(name)).toEqual(["kubectl-edit Update"]);
  });

  test("a no-op write keeps the version", async () => {
    const name = fresh();
    await serverSide(name, { x: "1" });
    await kubectl.ok("label", "cm", name, "l=1");
    const before = await kubectl.ok("get", "cm", name, "-o", "jsonpath={.metadata.resourceVersion}");
    await kubectl.ok("label", "cm", name, "l=1", "--overwrite");
    await serverSide(name, { x: "1" });
    expect(await kubectl.ok("get", "cm", name, "-o", "jsonpath={.metadata.resourceVersion}")).toBe(before);
  });

  test("lists of a pod are merged by key, whoever applies them", async () => {
    const pod = (...containers: readonly object[]): string =>
      JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name: "merged" }, spec: { containers } });
    await given(pod({ name: "a", image: "a:1", ports: [{ containerPort: 80 }] })).ok(
      "apply",
      "--server-side",
      "-f",
      "-",
    );
    await given(pod({ name: "a", image: "a:1" })).ok("apply", "--server-side", "--field-manager=b", "-f", "-");
    const refused = await given(pod({ name: "a", image: "a:2" }))(
      "apply",
      "--server-side",
      "--field-manager=b",
      "-f",
      "-",
    );
    expect(refused.err).toContain('conflict with "kubectl": .spec.containers[name="a"].image');
    const ports = await kubectl.ok("get", "pod", "merged", "-o", "jsonpath={.spec.containers[0].ports[0].protocol}");
    expect(ports).toBe("TCP");
  });

  test("an unknown field is named", async () => {
    const { code, err } = await given(manifest(fresh(), {}, { nonsense: 1 }))("apply", "--server-side", "-f", "-");
    expect(code).toBe(1);
    expect(err).toContain("nonsense");
  });
});
