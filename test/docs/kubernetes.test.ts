import { afterAll, beforeAll, expect, test } from "vitest";
import { commandsOf, docsPage, type DocsPage } from "../kits/docs-page.ts";
import { freePort, startKubernetes, type Kubernetes } from "../kits/peers-kube.ts";
import { pratiqueProgram, type PratiqueProgram } from "../kits/peers-pratique.ts";
import { eventually, type PeerProcess } from "../kits/peers-process.ts";
import { peerSuite, type PeerProgram } from "../kits/peers.ts";

const asAdmin = "export KUBECONFIG=$HOME/pratique-data/admin.kubeconfig";
const sixWords = /\b([a-z]+(?: [a-z]+){5})\n/;

const anyProfile = {
  apiVersion: "access.pratique.dev/v1alpha1",
  kind: "AccessProfile",
  metadata: { name: "any", annotations: { "access.pratique.dev/is-default-profile": "true" } },
  spec: { namespace: "default", roles: [{ kind: "ClusterRole", name: "view" }] },
};

let program: PratiqueProgram;
let kubernetes: Kubernetes;

/** The page on serving certificates has a line for Kubernetes 1.28 and newer. */
const needs: readonly PeerProgram[] = [
  "etcd",
  "kubectl",
  "../current/bin/kube-apiserver",
  "../current/bin/kube-controller-manager",
];

peerSuite(needs, "each block works as typed, on a hub and on any Kubernetes, of docs/", () => {
  beforeAll(async () => {
    [program, kubernetes] = await Promise.all([pratiqueProgram(), startKubernetes(undefined, {}, {}, "current")]);
  });

  afterAll(async () => {
    await Promise.all([program.remove(), kubernetes.stop()]);
  });

  /** A page beside a hub, with the operator's kubeconfig, and with that of Kubernetes as admin.conf. */
  async function onHub(name: string, line?: string): Promise<DocsPage> {
    const page = await docsPage(name, program);
    await page.hub(line);
    await page.type(`cp ${kubernetes.kubeconfig} admin.conf`);
    await page.type(asAdmin);
    return page;
  }

  const onKubernetes = "export KUBECONFIG=$HOME/admin.conf";

  test("access-requests.md", async () => {
    const page = await onHub("access-requests.md");
    const joined = await page.type("pratique token create --print-join-command");
    page.replace({ "sha256:<pin>": /sha256:[0-9a-f]{64}/.exec(joined)?.[0] ?? "" });
    // The first line applies the file that the second block shows.
    const { apply, request, pending, approve } = page.commands(
      "kubectl apply -f viewers.yaml",
      "apply",
      "request",
      "pending",
      "approve",
    );
    await page.save("apiVersion: access.pratique.dev/v1alpha1", "viewers.yaml");
    await page.type(apply);
    const machine = page.start(`${request} --dir access`);
    const [, words = ""] = await machine.until(sixWords);
    const [, name = ""] = await machine.until(/accessrequest\/([\w.-]+)/);
    expect(await page.type(pending)).toContain(name);
    await page.type(approve.replace("NAME", name).replace("six words from the machine", words));
    expect((await machine.done).code).toBe(0);

    page.replace({ "10.20.0.0/16": "127.0.0.0/8" });
    await page.type("kubectl create namespace vms");
    await page.save("apiVersion: access.pratique.dev/v1alpha1", "pods.yaml");
    await page.type("kubectl annotate accessprofile viewers access.pratique.dev/is-default-profile-");
    await page.type("kubectl apply -f pods.yaml");
    expect(await page.type("kubectl get accessprofiles")).toMatch(/^pods\b/m);

    const { named, renamed, agent, status } = page.commands("pratique request", "named", "renamed", "agent", "status");
    const first = page.start(`${named} --dir racked`);
    const [, racked = ""] = await first.until(/accessrequest\/([\w.-]+)/);
    const second = page.start(`${renamed} --dir renamed`);
    const [, compared = ""] = await second.until(sixWords);
    page.replace({ "/var/lib/pratique/access": `${page.dir}/access` });
    await page.start(agent).until(/reason=Ready/);
    await page.type(status);

    await page.save("apiVersion: rbac.authorization.k8s.io/v1", "approver.yaml");
    await page.type("kubectl apply -f approver.yaml");
    const commands = commandsOf(page.next("kubectl create clusterrolebinding approvers"));
    expect(commands).toHaveLength(6);
    await page.type(`kubectl label accessrequest ${racked} rack=7`);
    const [bind = "", again = "", one = "", all = "", deny = "", revoke = ""] = commands;
    await page.type(bind);
    expect(await page.type(again)).toContain("vm-7-b");
    await page.type(one.replace("NAME", "vm-7-b").replace("six words from the machine", compared));
    // It comes from the machine of an earlier request, under the same host name.
    expect(await page.typeAny(all.replace("--expect 24", "--expect 1"))).toContain("need care");
    await page.type(deny.replace("NAME", racked));
    await page.type(revoke.replace("NAME", name));

    await page.type(onKubernetes);
    await page.type("cp viewers.yaml profile.yaml && kubectl create namespace vms");
    const { manifests, label, profile, bindApprovers } = page.commands(
      "pratique manifests --image pratique:1",
      "manifests",
      "label",
      "profile",
      "bindApprovers",
    );
    await page.type(manifests);
    // No Pod runs here: the webhook does, as the page says of programs outside the cluster.
    const webhook = `https://127.0.0.1:${await freePort()}`;
    const place = `--secure-port ${new URL(webhook).port} --cert-dir webhook`;
    await page.type(`pratique manifests --no-workloads --webhook-url ${webhook} | kubectl apply -f -`);
    await page
      .start(`pratique webhook --url ${webhook} --register --kubeconfig admin.conf ${place}`)
      .until(/reason=Listening/);
    for (const line of [label, profile, bindApprovers]) await page.type(line);
    await page.type(asAdmin);
    await page.start(renamed.replace("vm-7-b", "vm-8 --dir vm-8")).until(sixWords);
    await page.run("kubectl patch accessrequest", { NAME: "vm-8" });
    expect(page.left()).toEqual([]);
  }, 180_000);

  test("joining.md", async () => {
    const page = await onHub("joining.md");
    await page.run("pratique token create");
    const line = await page.type("pratique token create --print-join-command 2>/dev/null");
    await page.type("kubectl delete clusterrolebinding kubeadm:node-autoapprove-bootstrap");
    const join = (name: string): string =>
      `${line.trim()} --node-name ${name} --cert-dir ${name} --kubeconfig ${name}/kubelet.conf`;
    const [good, bad] = [page.start(join("good")), page.start(join("bad"))];
    const named = async (one: PeerProcess): Promise<string> => (await one.until(/csr\/([\w-]+)/))[1] ?? "";
    const [approved, denied] = await Promise.all([named(good), named(bad)]);
    const { pending, approve, deny } = page.commands("pratique pending", "pending", "approve", "deny");
    expect(await page.type(pending)).toMatch(/good[^]*bad|bad[^]*good/);
    await page.type(approve.replace("NAME", approved));
    await page.type(deny.replace("NAME", denied));
    expect((await good.done).code).toBe(0);
    expect((await bad.done).printed).toContain("UnknownMachine");

    // This control plane has what kubeadm makes: it goes first.
    await page.type(onKubernetes);
    await page.type(`cp ${kubernetes.dir}/pki/ca.crt .`);
    await page.type("kubectl delete configmap cluster-info -n kube-public --ignore-not-found");
    await page.type(
      "kubectl delete role,rolebinding -n kube-public kubeadm:bootstrap-signer-clusterinfo --ignore-not-found",
    );
    await page.type(
      "kubectl delete clusterrolebinding kubeadm:kubelet-bootstrap kubeadm:node-autoapprove-bootstrap kubeadm:node-autoapprove-certificate-rotation --ignore-not-found",
    );
    page.replace({ "https://api.example:6443": kubernetes.url });
    await page.run("kubectl config set-cluster cluster");
    await page.run("kubectl create clusterrolebinding kubeadm:kubelet-bootstrap");
    const there = await page.type("pratique token create --print-join-command 2>/dev/null");
    expect(
      await page.type(`${there.trim()} --node-name node-9 --cert-dir there --kubeconfig there/kubelet.conf`),
    ).toContain("node-9");
    expect(page.left()).toEqual([]);
  }, 180_000);

  test("managed-clusters.md", async () => {
    const page = await docsPage("managed-clusters.md", program);
    await page.type(`cp ${kubernetes.kubeconfig} admin.conf`);
    const hub = await page.hub(commandsOf(page.next("pratique hub --managed-clusters"))[0]);
    await page.type(onKubernetes);
    const { manifests, controller, webhook } = page.commands(
      "pratique manifests --managed-clusters",
      "manifests",
      "controller",
      "webhook",
    );
    await page.type(manifests);
    await page.start(controller).until(/controllers started|reason=\w*Started|leader/);
    await page.start(`${webhook} --secure-port 0 --cert-dir webhook`).until(/reason=Listening/);

    // test/e2e/cluster-commands.test.ts types these.
    page.next("pratique cluster token");
    const { approve, accept } = page.commands("kubectl certificate approve", "approve", "accept");
    await page.save("apiVersion: pratique.dev/v1alpha1", "registration.yaml");
    const { klusterlet } = page.commands("pratique klusterlet --bootstrap", "klusterlet");
    const { agent } = page.commands("pratique cluster agent", "agent");
    const { leave } = page.commands("pratique klusterlet --leave", "leave");
    const { detach, force } = page.commands("pratique cluster detach", "detach", "force");
    await hub.stop();
    await page.hub("pratique hub --managed-clusters --registration-config registration.yaml");

    await page.type(asAdmin);
    await page.type(
      "cp admin.conf admin.kubeconfig && kubectl --kubeconfig admin.conf create namespace open-cluster-management-agent",
    );
    await page.type("pratique cluster token --bootstrap-kubeconfig hub.kubeconfig --ttl 1h");
    const spoke = page.start(klusterlet);
    const request = await eventually("the request of the agent", async () => {
      const names = await page.type("kubectl get csr -l open-cluster-management.io/cluster-name=east -o name");
      return names.trim().split("/")[1];
    });
    await page.type(approve.replace("<request>", request));
    await page.type(accept);
    await eventually(
      "the cluster to be available",
      async () => (await page.type("kubectl get managedcluster east")).includes("True") || undefined,
    );
    await spoke.stop();
    await page.type(leave);
    await page.type("pratique cluster token --bootstrap-kubeconfig east.kubeconfig --ttl 1h");
    await page.type(`${onKubernetes}; ${agent}`);
    await page.type(asAdmin);
    await page.type(
      `printf '{"apiVersion":"cluster.open-cluster-management.io/v1","kind":"ManagedCluster","metadata":{"name":"east"}}' | kubectl create -f -`,
    );
    await page.type(force);
    await page.type(detach);
    expect(page.left()).toEqual([]);
  }, 180_000);

  test("revocation.md", async () => {
    const page = await onHub("revocation.md");
    await page.type(
      'eval "$(pratique token create --print-join-command) --node-name worker-3 --cert-dir w --kubeconfig w/kubelet.conf"',
    );
    await page.run("export KUBECONFIG=pratique-data");
    await page.type(asAdmin);
    const csr = (await page.type("kubectl get csr -o name")).trim().split("/")[1] ?? "";
    await page.type("kubectl create namespace edge && kubectl create serviceaccount vm-1 -n edge");
    const printed = await page.type("openssl x509 -in w/kubelet-client-current.pem -noout -fingerprint -sha256");
    page.replace({
      "csr/node-csr-x": `csr/${csr}`,
      "9F:2C:…": printed.trim().split("=")[1] ?? "",
      "2f0e3c1a-…": "2f0e3c1a-0000-4000-8000-000000000000",
    });
    const lines = commandsOf(page.next("pratique revoke node/worker-3"));
    expect(lines).toHaveLength(12);
    const joined = /127.*/.exec(await page.type("pratique token create --print-join-command 2>/dev/null"))?.[0] ?? "";
    await page.start(`pratique request ${joined.split(" ")[0]} --name vm-1 --dir vm-1`).until(/waiting/);
    await page.type(`printf '${JSON.stringify(anyProfile)}' | kubectl create -f -`);
    await page.type("pratique approve accessrequest/vm-1");
    for (const line of lines) {
      const [made = ""] = (await page.type("kubectl get crev -o name")).split("\n");
      await page.type(line.replace("NAME", made.split("/")[1] ?? ""));
    }
    const header = /IDENTITY.*/.exec(await page.type("pratique credentials"))?.[0];

    await page.type(onKubernetes);
    await page.type("cp admin.conf authorizer.conf");
    const { apply, bind, authorizer } = page.commands(
      "pratique manifests | kubectl apply",
      "apply",
      "bind",
      "authorizer",
    );
    await page.type(apply);
    await page.type(bind);
    await page.start(`${authorizer} --secure-port 0 --cert-dir certs`).until(/reason=Listening/);
    // What it lists depends on the machines; the columns do not.
    expect(page.next("$ pratique credentials").split("\n")[1]?.split(/ {2,}/)).toEqual(`    ${header}`.split(/ {2,}/));
    expect(page.left()).toEqual([]);
  }, 180_000);

  test("serving-certificates.md", async () => {
    const page = await docsPage("serving-certificates.md", program);
    await page.type(`cp ${kubernetes.kubeconfig} admin.conf`);
    const { hub, controller } = page.commands("pratique hub --serving-approval", "hub", "controller");
    const first = await page.hub(hub);
    await page.type(onKubernetes);
    await page.start(controller).until(/controllers started|leader/);
    await page.save("apiVersion: v1", "inventory.yaml");
    await page.type("kubectl apply -f inventory.yaml");
    await page.type(asAdmin);
    await page.type("kubectl apply -f inventory.yaml");
    await page.type(onKubernetes);
    await page.run("pratique manifests --node-inventory");
    await first.stop();
    await page.save("apiVersion: pratique.dev/v1alpha1", "approval.yaml");
    await page.type("printf 'node-1,node-1.example\n' > /etc/pratique/nodes.csv");
    await page.hub("pratique hub --serving-approval inventory,networks --serving-approval-config approval.yaml");
    await page.type(asAdmin);
    await page.run("kubectl get events");
    expect(page.left()).toEqual([]);
  }, 180_000);
});
