import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createCsr } from "../../src/pki/csr.ts";
import { generatePrivateKey } from "../../src/pki/keys.ts";
import { writeExecutable } from "../kits/executable.ts";
import { adminKeyPair } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import type { Kubectl } from "../kits/kubectl.ts";
import { peerSuite } from "../kits/peers.ts";

let hub: TestHub;
let kubectl: Kubectl;

/** kubectl with a manifest on its standard input. */
const fed = (input: string | object): Kubectl =>
  kubectl.with({ input: typeof input === "string" ? input : JSON.stringify(input) });
const map = (name: string, data: object = {}, metadata: object = {}): object => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...metadata },
  data,
});
const version = (object: string): Promise<string> =>
  kubectl.ok("get", object, "-o", "jsonpath={.metadata.resourceVersion}");
const dataOf = async (name: string): Promise<unknown> =>
  JSON.parse(await kubectl.ok("get", "cm", name, "-o", "jsonpath={.data}"));

peerSuite("kubectl", "kubectl writes to the hub", () => {
  beforeAll(async () => {
    hub = await startTestHub({ users: { clerk: [] } });
    kubectl = hub.kubectl;
    const { certPem, keyPem } = adminKeyPair(hub);
    await writeFile(join(hub.dir, "tls.crt"), certPem);
    await writeFile(join(hub.dir, "tls.key"), keyPem);
  });

  afterAll(() => hub.close());

  describe("create", () => {
    it.each([
      ["namespace/g-ns", ["namespace", "g-ns"]],
      ["configmap/g-cm", ["configmap", "g-cm", "--from-literal=a=1"]],
      ["secret/g-opaque", ["secret", "generic", "g-opaque", "--from-literal=a=1"]],
      [
        "secret/g-docker",
        ["secret", "docker-registry", "g-docker", "--docker-server=s", "--docker-username=u", "--docker-password=p"],
      ],
      ["serviceaccount/g-sa", ["serviceaccount", "g-sa"]],
      [
        "role.rbac.authorization.k8s.io/g-role",
        ["role", "g-role", "--verb=get,list", "--resource=pods,leases.coordination.k8s.io"],
      ],
      [
        "rolebinding.rbac.authorization.k8s.io/g-rb",
        ["rolebinding", "g-rb", "--clusterrole=view", "--user=u", "--serviceaccount=default:g-sa"],
      ],
      [
        "clusterrole.rbac.authorization.k8s.io/g-cr",
        ["clusterrole", "g-cr", "--verb=get", "--resource=nodes,pods/log", "--resource-name=n1"],
      ],
      [
        "clusterrole.rbac.authorization.k8s.io/g-path",
        ["clusterrole", "g-path", "--verb=get", "--non-resource-url=/logs/*"],
      ],
      ["clusterrole.rbac.authorization.k8s.io/g-agg", ["clusterrole", "g-agg", "--aggregation-rule=a=b"]],
      [
        "clusterrolebinding.rbac.authorization.k8s.io/g-crb",
        ["clusterrolebinding", "g-crb", "--clusterrole=view", "--group=g"],
      ],
    ])("generates %s", async (made, args) => {
      expect(await kubectl.ok("create", ...args)).toBe(`${made} created\n`);
      expect((await kubectl("create", ...args)).err).toMatch(/ \S+ "g-[a-z]+" already exists\n$/);
      expect(await kubectl.ok("get", made, "-o", "name")).toBe(`${made}\n`);
    });

    it("generates a TLS secret and a pod", async () => {
      const files = [`--cert=${join(hub.dir, "tls.crt")}`, `--key=${join(hub.dir, "tls.key")}`];
      await kubectl.ok("create", "secret", "tls", "g-tls", ...files);
      expect(await kubectl.ok("get", "secret", "g-tls", "-o", "jsonpath={.type}")).toBe("kubernetes.io/tls");
      expect(await kubectl.ok("run", "g-pod", "--image=i:1")).toBe("pod/g-pod created\n");
      expect(await kubectl.ok("delete", "pod", "g-pod")).toContain("deleted");
    });

    it("stores nothing in a dry run, of the server or of the client", async () => {
      for (const kind of ["server", "client"]) {
        expect(await kubectl.ok("create", "cm", "dry", `--dry-run=${kind}`)).toMatch(
          /^configmap\/dry created \(.*dry run\)\n$/,
        );
      }
      expect((await kubectl("create", "cm", "Dry", "--dry-run=server")).err).toMatch(
        /ConfigMap "Dry" is invalid: metadata.name: Invalid value/,
      );
      expect((await kubectl("get", "cm", "dry")).code).toBe(1);
    });

    it("takes files of several objects, generated names, and questions that are only answered", async () => {
      const out = await fed(
        `apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: gen-}\n---\n${JSON.stringify(map("second"))}`,
      ).ok("create", "-f", "-");
      expect(out).toMatch(/^configmap\/gen-[a-z0-9]{5} created\nconfigmap\/second created\n$/);
      const review = {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SubjectAccessReview",
        spec: { user: "u", resourceAttributes: { verb: "get", resource: "pods" } },
      };
      expect(await fed(review).ok("create", "-f", "-", "-o", "jsonpath={.status.allowed}")).toBe("false");
    });

    it("makes tokens of ServiceAccounts", async () => {
      expect(await kubectl.ok("create", "token", "default", "--duration=10m")).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
    });

    it("says what the hub does not do", async () => {
      expect((await kubectl("create", "deployment", "d", "--image=i")).err).toBe(
        "error: failed to create deployment: the server could not find the requested resource\n",
      );
      expect((await fed(map("x", {}, { namespace: "none" }))("create", "-f", "-")).err).toMatch(
        /\(NotFound\).*namespaces "none" not found/,
      );
    });

    it("refuses unknown fields, warns of them, or lets them pass, as asked", async () => {
      const odd = { ...map("odd"), foo: 1 };
      const strict = await fed(odd)("create", "-f", "-");
      expect([strict.code, strict.err]).toEqual([
        1,
        expect.stringContaining('strict decoding error: unknown field "foo"') as unknown,
      ]);
      const warned = await fed(odd)("create", "-f", "-", "--validate=warn");
      expect(warned).toEqual({ code: 0, out: "configmap/odd created\n", err: 'Warning: unknown field "foo"\n' });
      expect(await fed({ ...odd, metadata: { name: "odd2" } })("create", "-f", "-", "--validate=ignore")).toMatchObject(
        { code: 0, err: "" },
      );
    });
  });

  describe("apply", () => {
    it("adds and removes entries of maps and lists, and keeps what others have added", async () => {
      const pod = (containers: readonly object[], tolerations: readonly object[], labels: object): object => ({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "applied", labels },
        spec: { containers, tolerations },
      });
      const account = (secrets: readonly string[], pulls: readonly string[]): object => ({
        apiVersion: "v1",
        kind: "ServiceAccount",
        metadata: { name: "applied" },
        secrets: secrets.map((name) => ({ name })),
        imagePullSecrets: pulls.map((name) => ({ name })),
      });
      const first = [
        pod(
          [
            { name: "a", image: "a:1" },
            { name: "b", image: "b:1" },
          ],
          [{ key: "k", operator: "Exists" }],
          { l: "1", m: "1" },
        ),
        account(["one", "two"], ["p1", "p2"]),
        map("applied", { a: "1", b: "2" }),
      ];
      const list = (items: readonly object[]): string => items.map((item) => JSON.stringify(item)).join("\n---\n");
      expect(await fed(list(first)).ok("apply", "-f", "-")).toBe(
        "pod/applied created\nserviceaccount/applied created\nconfigmap/applied created\n",
      );
      expect(await fed(list(first)).ok("apply", "-f", "-")).toBe(
        "pod/applied unchanged\nserviceaccount/applied unchanged\nconfigmap/applied unchanged\n",
      );
      await kubectl.ok("patch", "sa", "applied", "-p", '{"secrets":[{"name":"of-another"}]}');
      await kubectl.ok("label", "pod/applied", "theirs=1");
      const second = [
        pod(
          [
            { name: "a", image: "a:2" },
            { name: "b", image: "b:1" },
          ],
          [
            { key: "k", operator: "Exists" },
            { key: "k2", operator: "Exists" },
          ],
          { l: "2" },
        ),
        account(["two", "three"], ["p2", "p3"]),
        map("applied", { b: "3", c: "4" }),
      ];
      const diff = await fed(list(second))("diff", "-f", "-");
      expect([diff.code, diff.out]).toEqual([1, expect.stringMatching(/^-.*a:1[^]*^\+.*a:2/m) as unknown]);
      expect(await fed(list(second)).ok("apply", "-f", "-")).toMatch(/^(?:\S+ configured\n){3}$/);
      const after = await kubectl.json("get", "pod", "applied");
      expect(after).toMatchObject({
        metadata: { labels: { l: "2", theirs: "1" } },
        spec: {
          containers: [
            { name: "a", image: "a:2" },
            { name: "b", image: "b:1" },
          ],
        },
      });
      expect((after["metadata"] as { labels: object }).labels).not.toHaveProperty("m");
      expect(await kubectl.ok("get", "pod", "applied", "-o", "jsonpath={.spec.tolerations[*].key}")).toMatch(
        /^k2? k2?$/,
      );
      const names = async (field: string): Promise<readonly string[]> =>
        (await kubectl.ok("get", "sa", "applied", "-o", `jsonpath={.${field}[*].name}`)).split(" ").toSorted();
      expect(await names("secrets")).toEqual(["of-another", "three", "two"]);
      expect(await names("imagePullSecrets")).toEqual(["p2", "p3"]);
      expect(await dataOf("applied")).toEqual({ b: "3", c: "4" });
      // kubectl sends the order of a list that it shares with others each time; nothing is written for it.
      const written = await version("sa/applied");
      expect(await fed(list(second)).ok("apply", "-f", "-")).toMatch(
        /^pod\/applied unchanged\n.*\nconfigmap\/applied unchanged\n$/,
      );
      expect(await version("sa/applied")).toBe(written);
      expect((await fed(list(second))("diff", "-f", "-")).code).toBe(0);
    });

    it("refuses unknown fields, and changes nothing in a dry run", async () => {
      expect((await fed({ ...map("strict"), foo: 1 })("apply", "-f", "-")).err).toContain(
        'strict decoding error: unknown field "foo"',
      );
      expect((await fed({ ...map("applied", { z: "1" }), bar: 1 })("apply", "-f", "-")).err).toContain(
        'unknown field "bar"',
      );
      expect(await fed(map("applied", { z: "1" })).ok("apply", "-f", "-", "--dry-run=server")).toBe(
        "configmap/applied configured (server dry run)\n",
      );
      expect(await dataOf("applied")).toEqual({ b: "3", c: "4" });
    });

    it("prunes nothing and deletes what a file names", async () => {
      expect(await fed(map("applied")).ok("delete", "-f", "-")).toMatch(/^configmap "applied" deleted/);
    });
  });

  describe("edit, label, annotate, patch, replace", () => {
    beforeAll(() => fed(map("c", { a: "1", b: "2" })).ok("create", "-f", "-"));

    it("edits with the editor that it is given", async () => {
      const editor = join(hub.dir, "editor.sh");
      writeExecutable(editor, '#!/bin/sh\nsed -i \'s/^  a: "1"$/  a: "9"/\' "$1"\n');
      const edited = kubectl.with({ env: { EDITOR: editor } });
      expect(await edited.ok("edit", "cm", "c")).toBe("configmap/c edited\n");
      expect(await dataOf("c")).toEqual({ a: "9", b: "2" });
      expect((await edited("edit", "cm", "c")).err).toBe("Edit cancelled, no changes made.\n");
    });

    it("labels and annotates, and writes nothing where nothing changes", async () => {
      expect(await kubectl.ok("label", "cm", "c", "x=1")).toBe("configmap/c labeled\n");
      const before = await version("cm/c");
      expect(await kubectl.ok("label", "cm", "c", "x=1", "--overwrite")).toBe("configmap/c not labeled\n");
      await kubectl.ok("patch", "cm", "c", "--type=merge", "-p", '{"data":{"a":"9"}}');
      expect(await version("cm/c")).toBe(before);
      expect((await kubectl("label", "cm", "c", "x=2")).err).toContain(
        "already has a value (1), and --overwrite is false",
      );
      expect(await kubectl.ok("label", "cm", "c", "x-")).toBe("configmap/c unlabeled\n");
      expect(await kubectl.ok("annotate", "cm", "c", "note=hello world")).toBe("configmap/c annotated\n");
      expect(await kubectl.ok("annotate", "cm", "--all", "everywhere=1")).toContain("configmap/c annotated\n");
      expect((await kubectl("label", "cm", "c", "x=-")).err).toMatch(
        /metadata.labels: Invalid value: "-"|invalid label value: "x=-"/,
      );
    });

    it("patches in three ways", async () => {
      expect(
        await kubectl.ok("patch", "cm", "c", "--type=json", "-p", '[{"op":"replace","path":"/data/a","value":"5"}]'),
      ).toBe("configmap/c patched\n");
      expect(await kubectl.ok("patch", "cm", "c", "--type=merge", "-p", '{"data":{"b":null,"d":"6"}}')).toBe(
        "configmap/c patched\n",
      );
      expect(await kubectl.ok("patch", "cm", "c", "-p", '{"data":{"e":"7"}}')).toBe("configmap/c patched\n");
      expect(await kubectl.ok("patch", "cm", "c", "-p", '{"data":{"e":"7"}}')).toBe(
        "configmap/c patched (no change)\n",
      );
      expect(await dataOf("c")).toEqual({ a: "5", d: "6", e: "7" });
      const failed = await kubectl(
        "patch",
        "cm",
        "c",
        "--type=json",
        "-p",
        '[{"op":"test","path":"/data/a","value":"x"}]',
      );
      expect([failed.code, failed.err]).toEqual([
        1,
        expect.stringMatching(
          /^The request is invalid: the server rejected our request due to an error in our request/,
        ) as unknown,
      ]);
    });

    it("replaces the version that it knows and no later one", async () => {
      const known = await kubectl.json("get", "cm", "c");
      expect(await fed({ ...known, data: { n: "1" } }).ok("replace", "-f", "-")).toBe("configmap/c replaced\n");
      const stale = await fed({ ...known, data: { n: "2" } })("replace", "-f", "-");
      expect([stale.code, stale.err]).toEqual([
        1,
        'Error from server (Conflict): error when replacing "STDIN": Operation cannot be fulfilled on configmaps "c": the object has been modified; please apply your changes to the latest version and try again\n',
      ]);
      expect((await fed(map("none"))("replace", "-f", "-")).err).toContain('configmaps "none" not found');
      expect(await fed(map("c", { n: "3" })).ok("replace", "--force", "-f", "-")).toContain("replaced");
    });
  });

  describe("delete and wait", () => {
    it("waits until the last finalizer has gone", async () => {
      await fed(map("held", {}, { finalizers: ["x.io/hold"] })).ok("create", "-f", "-");
      const deleting = kubectl.start("delete", "cm", "held");
      await deleting.until(/^configmap "held" deleted/m);
      const waiting = kubectl.start("wait", "--for=delete", "cm/held", "--timeout=40s", "-v=6");
      await waiting.until(/watch=true.*status="200 OK"/, "err");
      expect(await kubectl.ok("get", "cm", "held", "-o", "jsonpath={.metadata.deletionTimestamp}")).toMatch(/Z$/);
      await kubectl.ok("patch", "cm", "held", "--type=merge", "-p", '{"metadata":{"finalizers":null}}');
      expect((await deleting.done).code).toBe(0);
      expect((await waiting.done).code).toBe(0);
    });

    it("does not wait when told so, and deletes by label", async () => {
      await fed(map("held2", {}, { finalizers: ["x.io/hold"], labels: { d: "1" } })).ok("create", "-f", "-");
      await fed(map("free", {}, { labels: { d: "1" } })).ok("create", "-f", "-");
      expect(await kubectl.ok("delete", "cm", "-l", "d=1", "--wait=false")).toMatch(
        /"free" deleted[^]*"held2" deleted/,
      );
      expect(await kubectl.ok("get", "cm", "-l", "d=1", "-o", "name")).toBe("configmap/held2\n");
      await kubectl.ok("patch", "cm", "held2", "--type=merge", "-p", '{"metadata":{"finalizers":null}}');
      expect((await kubectl("delete", "cm", "held2")).err).toBe(
        'Error from server (NotFound): configmaps "held2" not found\n',
      );
      expect(await kubectl.ok("delete", "cm", "held2", "--ignore-not-found")).toBe("");
    });

    it("waits for a condition, a value, and in vain", async () => {
      await fed(map("w", { state: "new" })).ok("create", "-f", "-");
      const waiting = kubectl.start("wait", "--for=jsonpath={.data.state}=done", "cm/w", "--timeout=40s", "-v=6");
      await waiting.until(/watch=true.*status="200 OK"/, "err");
      await kubectl.ok("patch", "cm", "w", "-p", '{"data":{"state":"done"}}');
      expect(await waiting.done).toMatchObject({ code: 0, out: "configmap/w condition met\n" });
      const vain = await kubectl("wait", "--for=condition=Ready", "cm/w", "--timeout=100ms");
      expect([vain.code, vain.err]).toEqual([1, "error: timed out waiting for the condition on configmaps/w\n"]);
    });

    it("takes a namespace with all that is in it", async () => {
      await kubectl.ok("create", "namespace", "full");
      await kubectl.ok("create", "cm", "inside", "-n", "full");
      expect(await kubectl.ok("delete", "namespace", "full")).toBe('namespace "full" deleted\n');
      expect((await kubectl("get", "cm", "inside", "-n", "full")).code).toBe(1);
      expect((await kubectl("delete", "namespace", "kube-system")).err).toContain(
        'namespaces "kube-system" is forbidden: this namespace may not be deleted',
      );
    });
  });

  describe("certificate", () => {
    const request = async (name: string): Promise<unknown> => {
      const pem = createCsr({ key: generatePrivateKey(), commonName: "joe", organizations: ["devs"] });
      const spec = {
        request: Buffer.from(pem).toString("base64"),
        signerName: "kubernetes.io/kube-apiserver-client",
        usages: ["client auth"],
      };
      return fed({
        apiVersion: "certificates.k8s.io/v1",
        kind: "CertificateSigningRequest",
        metadata: { name },
        spec,
      }).ok("create", "-f", "-");
    };

    it("approve leads to a certificate, deny does not", async () => {
      await request("yes");
      await request("no");
      expect(await kubectl.ok("get", "csr", "yes")).toMatch(
        /yes +\d+s +kubernetes.io\/kube-apiserver-client +kubernetes-admin +<none> +Pending/,
      );
      expect(await kubectl.ok("certificate", "approve", "yes")).toBe(
        "certificatesigningrequest.certificates.k8s.io/yes approved\n",
      );
      expect(await kubectl.ok("certificate", "deny", "no")).toBe(
        "certificatesigningrequest.certificates.k8s.io/no denied\n",
      );
      await kubectl.ok("wait", "--for=jsonpath={.status.certificate}", "csr/yes", "--timeout=40s");
      await kubectl.ok("wait", "--for=condition=Denied", "csr/no", "--timeout=40s");
      expect(await kubectl.ok("get", "csr")).toMatch(/no .* Denied\nyes .* Approved,Issued\n/);
      expect(await kubectl.ok("describe", "csr", "yes")).toMatch(
        /Status: +Approved,Issued\nSubject:\n +Common Name: +joe\n[^]*Organization: +devs/,
      );
      expect((await kubectl("certificate", "approve", "no")).code).toBe(1);
    });

    it("approve is refused to who may only write the approval", async () => {
      await request("third");
      await kubectl.ok("create", "clusterrole", "clerk", "--verb=get,list,update,patch", "--resource=csr,csr/approval");
      await kubectl.ok("create", "clusterrolebinding", "clerk", "--clusterrole=clerk", "--user=clerk");
      const clerk = kubectl.with({ kubeconfig: await hub.kubeconfigOf("clerk") });
      const { code, err } = await clerk("certificate", "approve", "third");
      expect([code, err]).toEqual([
        1,
        'Error from server (Forbidden): certificatesigningrequests.certificates.k8s.io "third" is forbidden: user not permitted to approve requests with signerName "kubernetes.io/kube-apiserver-client"\n',
      ]);
    });
  });

  it("auth reconcile brings roles to what a file says", async () => {
    const role = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "rec" },
      rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
    };
    expect(await fed(role).ok("auth", "reconcile", "-f", "-")).toContain(
      "clusterrole.rbac.authorization.k8s.io/rec reconciled",
    );
    const more = { ...role, rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] }] };
    await fed(more).ok("auth", "reconcile", "-f", "-");
    expect(await kubectl.ok("get", "clusterrole", "rec", "-o", "jsonpath={.rules}")).toContain('"list"');
  });

  it("config holds another context, and uses it", async () => {
    const own = kubectl.with({ kubeconfig: await hub.kubeconfigOf("clerk") });
    await own.ok("config", "set-context", "--current", "--namespace=kube-public");
    expect(await own.ok("config", "view", "--minify", "-o", "jsonpath={..namespace}")).toBe("kube-public");
    expect((await own("get", "cm")).err).toContain('in the namespace "kube-public"');
  });
});
