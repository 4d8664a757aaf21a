import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { fakeIo, runLine } from "../../../test/kits/fake-io.ts";
import { bootstrapKubeconfig } from "../../client/build-kubeconfig.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { fieldListAt, fieldsAt, stringsAt, valueAt } from "../../apis/json-fields.ts";

const server = "https://hub.example:6443";
const kubeconfig = bootstrapKubeconfig({ server, ca: { pem: "" }, token: "abcdef.0123456789abcdef" });
const withFile = kubeconfig.replace(/token: .*/, "tokenFile: /home/me/token");

async function run(...words: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const files = { "/here/east.kubeconfig": kubeconfig, "/here/file.kubeconfig": withFile, "/home/me/token": "t" };
  const io = fakeIo({ files });
  return { code: await runLine(["cluster", "agent", ...words], io), out: io.out(), err: io.err() };
}

async function printed(...words: readonly string[]): Promise<readonly ApiObject[]> {
  const { code, out, err } = await run(...words);
  expect([code, err]).toEqual([0, ""]);
  return parseAllDocuments(out).map((document) => document.toJS() as ApiObject);
}

const rulesOf = (objects: readonly ApiObject[], kind: string): unknown =>
  objects.find((object) => object.kind === kind)?.["rules"];

describe("pratique cluster agent", () => {
  it("gives the account two Secrets to write, which it need not make, and next to nothing to read", async () => {
    const objects = await printed("--namespace", "spoke");
    const secrets = objects.filter(({ kind }) => kind === "Secret");
    expect(secrets.map(({ metadata, data, stringData }) => [metadata, data, stringData])).toEqual(
      ["hub-kubeconfig-secret", "klusterlet-registration-state"].map((name) => [
        { name, namespace: "spoke" },
        undefined,
        undefined,
      ]),
    );
    expect(rulesOf(objects, "Role")).toEqual([
      {
        verbs: ["get", "update"],
        apiGroups: [""],
        resources: ["secrets"],
        resourceNames: ["hub-kubeconfig-secret", "klusterlet-registration-state"],
      },
    ]);
    const verbs = fieldListAt({ rules: rulesOf(objects, "ClusterRole") }, "rules").flatMap((one) =>
      stringsAt(one, "verbs"),
    );
    expect(new Set(verbs)).toEqual(new Set(["get", "list"]));
    const more = fieldListAt({ rules: rulesOf(await printed("--managed-namespaces"), "ClusterRole") }, "rules");
    expect(more.at(-1)).toEqual({
      verbs: ["create", "get", "list", "patch"],
      apiGroups: [""],
      resources: ["namespaces"],
    });
  });

  it("runs one agent at a time, not as root, with its first credential in a file and not in its arguments", async () => {
    const objects = await printed(
      "--cluster-name=east",
      "--bootstrap-kubeconfig=east.kubeconfig",
      "--image=registry.example/pratique:1",
      "--external-server=https://east.example",
    );
    const deployment = objects.find(({ kind }) => kind === "Deployment");
    const pod = fieldsAt(deployment, "spec", "template", "spec");
    expect(deployment?.["spec"]).toMatchObject({ replicas: 1, strategy: { type: "Recreate" } });
    expect(pod).toMatchObject({
      serviceAccountName: "pratique-klusterlet",
      securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
      containers: [
        {
          image: "registry.example/pratique:1",
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ["ALL"] },
          },
        },
      ],
    });
    expect(fieldListAt(pod, "volumes")).toContainEqual({
      name: "bootstrap",
      secret: { secretName: "bootstrap-hub-kubeconfig", optional: true, defaultMode: 0o440 },
    });
    expect(JSON.stringify(deployment)).not.toContain("0123456789abcdef");
    expect(JSON.stringify(pod)).toContain('"--external-server=https://east.example"');
    const secret = objects.find(({ metadata }) => metadata.name === "bootstrap-hub-kubeconfig");
    expect(valueAt(secret, "stringData", "kubeconfig")).toBe(kubeconfig);
  });

  it("leaves the Deployment out for an agent that runs elsewhere", async () => {
    const kinds = (await printed("--no-workloads")).map(({ kind }) => kind);
    expect(kinds).not.toContain("Deployment");
    expect(kinds).toContain("RoleBinding");
  });

  it.each([
    [["--namespace=Not_A_Name"], "--namespace"],
    [["--cluster-name=a.b"], "--cluster-name"],
    [["--cluster-name=-"], "--cluster-name"],
    [["--external-server=http://east.example"], "--external-server"],
    [["--bootstrap-kubeconfig=absent"], "--bootstrap-kubeconfig: absent does not exist"],
    [["--bootstrap-kubeconfig=file.kubeconfig"], "which a pod does not have"],
  ])("refuses %s", async (words, why) => {
    const { code, out, err } = await run(...words);
    expect([code, out, err]).toEqual([2, "", expect.stringContaining(why)]);
  });
});
