import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import type { Kubectl } from "../kits/kubectl.ts";
import { peerSuite } from "../kits/peers.ts";

let hub: TestHub;
let kubectl: Kubectl;

const pod = `
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  nodeName: n1
  containers: [{name: c, image: "i:1"}]
`;

/** The cells of a printed table, row by row, without its head. */
function rows(out: string): readonly (readonly string[])[] {
  return out
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => line.split(/ {2,}/));
}

peerSuite("kubectl", "kubectl reads from the hub", () => {
  beforeAll(async () => {
    hub = await startTestHub({ users: { nobody: [], alice: ["devs"] } });
    kubectl = hub.kubectl;
    await kubectl.with({ input: pod }).ok("create", "-f", "-");
    await kubectl.ok("create", "configmap", "one", "--from-literal=a=1", "--from-literal=b=2");
    await kubectl.ok("create", "configmap", "two", "-n", "kube-public");
    await kubectl.ok("label", "configmap", "one", "tier=back");
    await kubectl.ok("create", "secret", "generic", "pass", "--from-literal=p=w");
    await kubectl.ok("create", "role", "reader", "--verb=get,list", "--resource=pods");
    await kubectl.ok("create", "rolebinding", "reads", "--role=reader", "--user=jane", "--group=devs");
  });

  afterAll(() => hub.close());

  describe("get", () => {
    it("prints a table, a wide one, and names", async () => {
      expect(rows(await kubectl.ok("get", "namespaces"))).toContainEqual([
        "kube-system",
        "Active",
        expect.stringMatching(/^\d+s$/) as unknown,
      ]);
      const [plain, wide] = [await kubectl.ok("get", "pods"), await kubectl.ok("get", "pods", "-o", "wide")];
      expect(plain.split("\n")[0]?.split(/ +/)).toEqual(["NAME", "READY", "STATUS", "RESTARTS", "AGE"]);
      expect(wide.split("\n")[0]).toMatch(/ IP +NODE +NOMINATED NODE +READINESS GATES/);
      expect(rows(plain)).toEqual([["web", "0/1", "Pending", "0", expect.stringMatching(/s$/) as unknown]]);
      expect(wide).toContain(" n1 ");
      expect(await kubectl.ok("get", "cm/one", "secret/pass", "-o", "name")).toBe("configmap/one\nsecret/pass\n");
    });

    it("prints JSON, YAML and chosen columns of one object and of many", async () => {
      expect(await kubectl.json("get", "cm", "one")).toMatchObject({
        kind: "ConfigMap",
        apiVersion: "v1",
        data: { a: "1", b: "2" },
      });
      expect(await kubectl.json("get", "cm")).toMatchObject({ kind: "List", items: expect.any(Array) as unknown });
      expect(await kubectl.ok("get", "cm", "one", "-o", "yaml")).toMatch(
        /^apiVersion: v1\ndata:\n  a: "1"\n  b: "2"\nkind: ConfigMap\n/,
      );
      expect(await kubectl.ok("get", "cm", "one", "-o", "jsonpath={.data.b}")).toBe("2");
      expect(
        await kubectl.ok("get", "cm", "one", "-o", "custom-columns=N:.metadata.name,T:.metadata.labels.tier"),
      ).toBe("N     T\none   back\n");
    });

    it("knows namespaces, labels, order and pages", async () => {
      const all = await kubectl.ok("get", "cm", "-A", "--show-labels");
      expect(rows(all)).toContainEqual(["default", "one", "2", expect.any(String) as unknown, "tier=back"]);
      expect(rows(all)).toContainEqual(["kube-public", "two", "0", expect.any(String) as unknown, "<none>"]);
      expect(rows(await kubectl.ok("get", "cm", "-A", "--sort-by=.metadata.name")).map(([, name]) => name)).toEqual(
        rows(all)
          .map(([, name]) => name ?? "")
          .toSorted(),
      );
      const whole = await kubectl.ok("get", "clusterroles", "-o", "name");
      expect(await kubectl.ok("get", "clusterroles", "-o", "name", "--chunk-size=3")).toBe(whole);
      expect(whole.split("\n").length).toBeGreaterThan(30);
    });

    it("selects by labels and by fields, and says what cannot be selected", async () => {
      expect(await kubectl.ok("get", "cm", "-l", "tier in (back,front)", "-o", "name")).toBe("configmap/one\n");
      expect(await kubectl.ok("get", "pods", "-l", "app!=web,!other", "-o", "name")).toBe("");
      expect(
        await kubectl.ok("get", "pods", "--field-selector", "spec.nodeName=n1,status.phase!=Running", "-o", "name"),
      ).toBe("pod/web\n");
      expect(await kubectl.ok("get", "secrets", "--field-selector", "type=Opaque", "-o", "name")).toBe("secret/pass\n");
      const odd = await kubectl("get", "cm", "--field-selector", "foo=bar");
      expect([odd.code, odd.err]).toEqual([
        1,
        'Error from server (BadRequest): Unable to find "/v1, Resource=configmaps" that match label selector "", field selector "foo=bar": "foo" is not a known field selector: only "metadata.name", "metadata.namespace"\n',
      ]);
    });

    it("says what is missing, and what does not exist at all", async () => {
      expect((await kubectl("get", "cm", "none")).err).toBe(
        'Error from server (NotFound): configmaps "none" not found\n',
      );
      expect((await kubectl("get", "things")).err).toBe(`error: the server doesn't have a resource type "things"\n`);
      expect((await kubectl("get", "leases")).err).toBe("No resources found in default namespace.\n");
      expect(await kubectl.ok("get", "cm", "none", "--ignore-not-found")).toBe("");
    });

    it("reads any path as it is", async () => {
      expect(await kubectl.ok("get", "--raw", "/readyz")).toBe("ok");
      expect(await kubectl.ok("get", "--raw", "/readyz?verbose")).toContain("readyz check passed");
      expect(JSON.parse(await kubectl.ok("get", "--raw", "/api/v1/namespaces/default/configmaps/one"))).toMatchObject({
        kind: "ConfigMap",
      });
      const query =
        "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1";
      const lines = (await kubectl.ok("get", "--raw", `/api/v1/namespaces?${query}`)).trimEnd().split("\n");
      expect(lines.length).toBeGreaterThanOrEqual(5);
      expect(lines.map((line) => (JSON.parse(line) as { type: string }).type)).toEqual([
        ...lines.slice(1).map(() => "ADDED"),
        "BOOKMARK",
      ]);
      expect((await kubectl("get", "--raw", "/none")).err).toBe(
        "Error from server (NotFound): the server could not find the requested resource\n",
      );
    });
  });

  describe("get --watch", () => {
    const make = async (name: string, label: string): Promise<unknown> => {
      const body = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}","labels":{"w":"${label}"}}}`;
      return kubectl.with({ input: body }).ok("create", "-f", "-");
    };

    it("prints what is there and then each change", async () => {
      const watch = kubectl.start("get", "secrets", "-w", "-o", "name");
      await watch.until(/^secret\/pass$/m);
      await kubectl.ok("create", "secret", "generic", "later");
      await watch.until(/^secret\/later$/m);
      await kubectl.ok("delete", "secret", "later");
      await watch.until(/later\n(?:.*\n)*secret\/later$/m);
      expect((await watch.stop()).err).toBe("");
    });

    it("sees objects that cease to match a selector as DELETED, and nothing that never did", async () => {
      await make("old", "yes");
      const watch = kubectl.start("get", "cm", "--watch-only", "-l", "w=yes", "--output-watch-events", "-v=6");
      await watch.until(/watch=true.*status="200 OK"/, "err");
      await make("never", "no");
      await kubectl.ok("label", "cm", "old", "w=no", "--overwrite");
      await kubectl.ok("label", "cm", "never", "w=yes", "--overwrite");
      const out = await watch.until(/ADDED +never/);
      await watch.stop();
      expect(out).toMatch(/DELETED +old/);
      expect(out.match(/ never /g)).toHaveLength(1);
      expect(out).not.toMatch(/(?:ADDED|MODIFIED) +old/);
    });
  });

  describe("its describers", () => {
    it.each([
      [
        "pod/web",
        /Name: +web\n[^]*Node: +n1\/?\n[^]*Status: +Pending\n[^]*Containers:\n {2}c:\n {4}Image: +i:1\n[^]*Events: +<none>/,
      ],
      ["configmap/one", /Name: +one\n[^]*Labels: +tier=back\n[^]*a:\n----\n1\n/],
      ["secret/pass", /Type: +Opaque\n[^]*p: +1 bytes/],
      ["namespace/default", /Name: +default\n[^]*Status: +Active/],
      ["role/reader", /pods +\[\] +\[\] +\[get list\]/],
      ["rolebinding/reads", /Role:\n {2}Kind: +Role\n {2}Name: +reader\n[^]*User +jane[^]*Group +devs/],
      ["clusterrole/view", /Name: +view\n/],
      ["serviceaccount/default", /Name: +default\n/],
    ])("tells of %s", async (object, pattern) => {
      expect(await kubectl.ok("describe", object)).toMatch(pattern);
    });
  });

  describe("what there is", () => {
    it("is listed by api-resources and api-versions", async () => {
      const resources = rows(await kubectl.ok("api-resources"));
      expect(resources).toContainEqual([
        "certificatesigningrequests",
        "csr",
        "certificates.k8s.io/v1",
        "false",
        "CertificateSigningRequest",
      ]);
      expect(resources.length).toBeGreaterThanOrEqual(19);
      const namespaced = await kubectl.ok("api-resources", "--namespaced=true", "--verbs=list,watch", "-o", "name");
      expect(namespaced.split("\n")).toEqual(expect.arrayContaining(["configmaps", "leases.coordination.k8s.io"]));
      expect(namespaced).not.toContain("nodes");
      expect((await kubectl.ok("api-versions")).trimEnd().split("\n")).toEqual(
        expect.arrayContaining([
          "authentication.k8s.io/v1",
          "authorization.k8s.io/v1",
          "certificates.k8s.io/v1",
          "coordination.k8s.io/v1",
          "rbac.authorization.k8s.io/v1",
          "v1",
        ]),
      );
    });

    it.each([
      "configmaps",
      "pods.spec.containers",
      "csr.spec.usages",
      "lease.spec",
      "clusterrole.rules",
      "node.status",
    ])("is explained: %s", async (what) => {
      const out = await kubectl.ok("explain", what);
      expect(out).toMatch(/KIND: +\w+\nVERSION: +v1\n/);
      expect(out).toMatch(/DESCRIPTION:\n {4}\S/);
    });

    it("is explained in full", async () => {
      const out = await kubectl.ok("explain", "pod", "--recursive");
      expect(out).toMatch(/^ {2}spec\t<PodSpec>/m);
      expect(out).toMatch(/^ {4}containers\t<\[\]Container>/m);
      expect((await kubectl("explain", "pod.spec.nothing")).err).toMatch(/field "nothing" does not exist/);
    });

    it("has a version and a place", async () => {
      const version = JSON.parse(await kubectl.ok("version", "-o", "json")) as { serverVersion: { minor: string } };
      expect(version.serverVersion.minor).toBe("36");
      const plain = await kubectl("version");
      expect([plain.out, plain.err]).toEqual([expect.stringContaining("Server Version: v1.36.") as unknown, ""]);
      expect(await kubectl.ok("cluster-info")).toContain(`is running at`);
      expect(await kubectl.ok("cluster-info")).toContain(hub.url);
    });

    it("has events, for all and for one object", async () => {
      const uid = await kubectl.ok("get", "pod", "web", "-o", "jsonpath={.metadata.uid}");
      const event = `{"apiVersion":"v1","kind":"Event","metadata":{"name":"web.1"},"type":"Warning","reason":"Tired","message":"the pod is tired",
        "involvedObject":{"apiVersion":"v1","kind":"Pod","name":"web","namespace":"default","uid":"${uid}"},"lastTimestamp":"2026-01-01T00:00:00Z","count":3}`;
      await kubectl.with({ input: event }).ok("create", "-f", "-");
      expect(await kubectl.ok("events", "--for", "pod/web")).toMatch(/Warning +Tired +Pod\/web +the pod is tired/);
      expect(await kubectl.ok("get", "events")).toMatch(/Warning +Tired +pod\/web +the pod is tired/);
      expect(await kubectl.ok("describe", "pod", "web")).toMatch(/Warning +Tired[^]*the pod is tired/);
    });
  });

  describe("who it is and what it may", () => {
    it("is told by auth whoami, also for another", async () => {
      expect(await kubectl.ok("auth", "whoami")).toMatch(
        /Username +kubernetes-admin\nGroups +\[system:masters system:authenticated\]\nExtra: authentication.kubernetes.io\/credential-id +\[X509SHA256=/,
      );
      expect(await kubectl.ok("auth", "whoami", "--as=jane", "--as-group=a", "--as-group=b", "--as-uid=7")).toMatch(
        /Username +jane\nUID +7\nGroups +\[a b system:authenticated\]/,
      );
      expect(await kubectl.ok("auth", "whoami", "--as=system:serviceaccount:x:y")).toContain(
        "[system:serviceaccounts system:serviceaccounts:x system:authenticated]",
      );
    });

    it("is told by auth can-i", async () => {
      expect((await kubectl("auth", "can-i", "delete", "secrets", "-A")).out).toBe("yes\n");
      expect(await kubectl("auth", "can-i", "list", "pods", "--as=jane")).toMatchObject({ code: 0, out: "yes\n" });
      expect(await kubectl("auth", "can-i", "delete", "pods", "--as=jane")).toMatchObject({ code: 1, out: "no\n" });
      expect(await kubectl("auth", "can-i", "create", "pods", "--subresource=exec", "--as=jane")).toMatchObject({
        code: 1,
        out: "no\n",
      });
      expect(await kubectl("auth", "can-i", "get", "/metrics", "--as=jane")).toMatchObject({ code: 1, out: "no\n" });
      const list = await kubectl.ok("auth", "can-i", "--list", "--as=someone", "--as-group=devs");
      expect(rows(list)).toContainEqual(["pods", "[]", "[]", "[get list]"]);
      expect(list).toMatch(/selfsubjectaccessreviews.authorization.k8s.io +\[\] +\[\] +\[create\]/);
    });

    it("is refused by name of user, verb and resource", async () => {
      expect(await kubectl.ok("get", "pods", "--as=jane", "-o", "name")).toBe("pod/web\n");
      expect((await kubectl("get", "pods", "-n", "kube-system", "--as=jane")).err).toBe(
        'Error from server (Forbidden): pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "kube-system"\n',
      );
      const nobody = kubectl.with({ kubeconfig: await hub.kubeconfigOf("nobody") });
      expect((await nobody("get", "pods", "--as=jane")).err).toBe(
        'Error from server (Forbidden): users "jane" is forbidden: User "nobody" cannot impersonate resource "users" in API group "" at the cluster scope\n',
      );
    });

    it("must be somebody, or nobody: a token that is unknown is neither", async () => {
      const stranger = kubectl.with({ kubeconfig: await hub.kubeconfigOf("stranger", "abcdef.0123456789abcdef") });
      for (const args of [
        ["get", "pods"],
        ["get", "--raw", "/version"],
        ["auth", "whoami"],
      ]) {
        const { code, err } = await stranger(...args);
        expect([code, err]).toEqual([
          1,
          expect.stringMatching(/^error: You must be logged in to the server \(.*[Uu]nauthorized.*\)\n$/) as unknown,
        ]);
      }
    });
  });

  it("config shows the kubeconfig without its secrets", async () => {
    const view = await kubectl.ok("config", "view");
    expect(view).toContain(`server: ${hub.url}`);
    expect(view).toContain("DATA+OMITTED");
    expect(view).not.toMatch(/PRIVATE KEY/);
    expect(await kubectl.ok("config", "current-context")).toBe("kubernetes-admin@pratique\n");
  });
});
