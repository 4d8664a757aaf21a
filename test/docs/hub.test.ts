import { readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commandsOf, docsPage, type DocsPage } from "../kits/docs-page.ts";
import { pratiqueProgram, type PratiqueProgram } from "../kits/peers-pratique.ts";
import { eventually } from "../kits/peers-process.ts";
import { peerSuite } from "../kits/peers.ts";

const root = resolve(import.meta.dirname, "../..");
const asAdmin = "export KUBECONFIG=$HOME/pratique-data/admin.kubeconfig";
const joinMachine = (name: string, words = ""): string =>
  `eval "$(pratique token create --print-join-command) --node-name ${name} --cert-dir ${name}/pki --kubeconfig ${name}/kubelet.conf${words}"`;

let program: PratiqueProgram;

peerSuite("kubectl", "each block works as typed, on a hub, of docs/", () => {
  beforeAll(async () => {
    program = await pratiqueProgram();
  });

  afterAll(() => program.remove());

  /** A page beside a hub with an operator's kubeconfig. */
  async function onHub(name: string): Promise<DocsPage> {
    const page = await docsPage(name, program);
    await page.hub();
    await page.type(asAdmin);
    return page;
  }

  test("admission.md", async () => {
    const page = await docsPage("admission.md", program);
    await page.hub(commandsOf(page.next("pratique hub --enable-admission-plugins"))[0]);
    await page.type(asAdmin);
    await page.save("apiVersion: admissionregistration.k8s.io/v1", "policy.yaml");
    await page.type("kubectl apply -f policy.yaml");
    await eventually("the policy to label a new ConfigMap", async () => {
      await page.type("kubectl delete configmap labelled --ignore-not-found");
      await page.type("kubectl create configmap labelled");
      const labels = await page.type("kubectl get configmap labelled -o jsonpath={.metadata.labels}");
      return labels === '{"example.com/new":"true","team":"default"}' || undefined;
    });
    expect(page.left()).toEqual([]);
  }, 120_000);

  test("audit.md", async () => {
    const page = await docsPage("audit.md", program);
    const first = await page.hub();
    await page.type(`${asAdmin} && kubectl get namespaces`);
    // The hub writes events in batches.
    const log = join(page.dir, "pratique-data/audit/audit.log");
    await eventually("an event in the log", async () => (await readFile(log, "utf8")).endsWith("\n") || undefined);
    expect(await page.run("tail -n 1 pratique-data")).toEqual([expect.stringContaining('"kind":"Event"')]);
    await first.stop();
    await page.save("apiVersion: audit.k8s.io/v1", "policy.yaml");
    await page.hub("pratique hub --audit-policy-file policy.yaml --audit-log-path own.log");
    await page.type("kubectl create secret generic one --from-literal=password=unmistakable");
    const own = await eventually("the creation in the log", async () => {
      const text = await readFile(join(page.dir, "own.log"), "utf8");
      return text.includes('"resource":"secrets"') ? text : undefined;
    });
    expect(own).not.toMatch(/unmistakable|dW5taXN0YWthYmxl/);
    expect(page.left()).toEqual([]);
  }, 120_000);

  test("ca-change.md", async () => {
    const page = await docsPage("ca-change.md", program);
    const dataDir = join(page.dir, "pratique-data");
    page.replace({ "/var/lib/pratique": dataDir });
    await page.hub();
    await page.type(asAdmin);
    const printed = await page.run("pratique ca status");
    expect(printed.join("\n")).toMatch(/phase|signs/i);
    await page.run("kubectl get configmap kube-root-ca.crt");
    expect(await readFile(join(page.dir, "ca.crt"), "utf8")).toContain("BEGIN CERTIFICATE");
    expect(page.left()).toEqual([]);
  }, 120_000);

  test("metrics.md", async () => {
    const page = await onHub("metrics.md");
    const [metrics = ""] = await page.run("kubectl --kubeconfig pratique-data");
    expect(metrics).toContain("apiserver_request_total");
    await page.run("kubectl create serviceaccount prometheus");
    await page.save("scrape_configs:", "prometheus.yml");
    await page.type("promtool check config --syntax-only prometheus.yml");
    const scraped = await page.type(
      `curl -sf --cacert ca.crt -H "Authorization: Bearer $(cat prometheus.token)" https://127.0.0.1:${page.port}/metrics`,
    );
    expect(scraped).toContain("apiserver_request_total");
    expect(page.left()).toEqual([]);
  }, 120_000);

  test("errors.md", async () => {
    const page = await onHub("errors.md");
    await page.run("kubectl get events -A");
    expect(page.left()).toEqual([]);
  }, 120_000);

  test("recovery.md", async () => {
    const page = await onHub("recovery.md");
    await page.type("kubectl delete clusterrolebinding kubeadm:node-autoapprove-bootstrap");
    const joining = page.start(`bash -c '${joinMachine("edge-1")}'`);
    const [, name = ""] = await joining.until(/csr\/([\w-]+)/);
    await page.run("pratique pending", { NAME: name, "accessrequest/NAME": "" });
    expect((await joining.done).code).toBe(0);
    await page.save("apiVersion: access.pratique.dev/v1alpha1", "edge.yaml");
    await page.type("kubectl apply -f edge.yaml");
    const terms = page.next("kind: AccessProfile").replace("  # …\n", "  namespace: default\n");
    await writeFile(
      join(page.dir, "profile.yaml"),
      `apiVersion: access.pratique.dev/v1alpha1\n${terms}metadata: { name: recovered }\n`,
    );
    await page.type("kubectl apply -f profile.yaml");
    expect(page.left()).toEqual([]);
  }, 120_000);

  test("authorization.md", async () => {
    const page = await docsPage("authorization.md", program);
    const first = await page.hub();
    const [, , allowed = ""] = await page.run("export KUBECONFIG=pratique-data");
    expect(allowed).toMatch(/^yes/);
    await page.type(asAdmin);
    await page.save('{"apiVersion":"abac', "abac.jsonl");
    await page.save("apiVersion: apiserver.config.k8s.io/v1", "authorization.yaml");
    const [check] = vertices(page.next("$ pratique policy check"));
    const [why] = vertices(page.next("$ pratique why"));

    await page.type(
      "kubectl create namespace dev && kubectl create rolebinding devs --clusterrole=view --group=devs -n dev",
    );
    expect(tableRows(await page.typeAny(why.command)).map(withoutTimes)).toEqual(
      tableRows(why.printed).map(withoutTimes),
    );

    await first.stop();
    const second = await page.hub("pratique hub --authorization-mode ABAC --authorization-policy-file abac.jsonl");
    expect(await page.type("pratique why --as ann list pods -n default")).toMatch(/^yes/);
    await second.stop();

    await writeFile(join(page.dir, "k8s.rego"), onlyAdmin);
    const asked = "--policy k8s.rego --query data.k8s.decision";
    await page.type(`pratique authorizer ${asked} --print-kubeconfig > /etc/pratique/team-rules.yaml`);
    await page.hub("pratique hub --authorization-config authorization.yaml");
    expect(tableRows(await page.typeAny(check.command))).toEqual(
      expect.arrayContaining(tableRows(check.printed).filter(([cell]) => cell !== "…")),
    );
    expect(page.left()).toEqual([]);
  }, 120_000);

  test("getting-started.md", async () => {
    const page = await docsPage("getting-started.md", program);
    expect(commandsOf(page.next("npm ci && npm start"))).toEqual(["npm ci && npm start"]);
    const first = await page.hub();
    await page.run("alias pratique=", { $PWD: "$HOME", 'alias pratique="node $HOME/dist/bin/pratique.js"': "true" });
    await page.run("eval");
    const [requests, credentials, whoami] = await page.run("kubectl get csr,namespaces", {
      "pratique why": "! pratique why",
    });
    expect(requests).toMatch(/certificatesigningrequest\S+ .* Approved,Issued\n/);
    expect(credentials).toContain("system:node:machine-1");
    expect(whoami).toMatch(/Username +system:node:machine-1\n/);
    await first.stop();
    await page.hub(
      (commandsOf(page.next("npm start --"))[0] ?? "").replace("npm start -- --bind-address 0.0.0.0", "pratique hub"),
    );
    expect(page.left()).toEqual([]);
  }, 120_000);

  test("rotation.md", async () => {
    const page = await docsPage("rotation.md", program);
    await page.hub();
    await page.type(asAdmin);
    const joined = (await page.type("pratique token create --print-join-command")).trim();
    const [join1 = "", agent = "", ...rest] = commandsOf(page.next("pratique join hub.example:6443 …"));
    await page.type(join1.replace("pratique join hub.example:6443 …", joined));
    const running = page.start(agent);
    await running.until(/reason=Ready/);
    for (const line of rest) await page.type(line);
    await running.stop();
    for (const line of commandsOf(page.next("pratique join … --serving"))) {
      await page.type(
        line.replace(
          "pratique join …",
          `${joined} --cert-dir /var/lib/pratique/node/pki --kubeconfig /var/lib/pratique/node/kubelet.conf`,
        ),
      );
    }
    const { print, get } = page.commands("pratique credential", "print", "get");
    await page.type(print);
    // A node may not list pods of other nodes: the hub knows it by the credential of the plugin.
    expect(await page.typeAny(get)).toMatch(/User "system:node:|No resources found/);
    expect(page.left()).toEqual([]);
  }, 120_000);

  test("running.md", async () => {
    const page = await docsPage("running.md", program);
    // These would change this machine: they are typed, and what they call is a stand-in.
    for (const name of ["npm", "useradd", "systemctl", "journalctl"]) {
      await writeFile(join(page.dir, "bin", name), `#!/bin/sh\necho ${name} "$@"\n`, { mode: 0o755 });
    }
    await page.type(`mkdir -p /etc/systemd/system /var/lib/pratique && cp -r ${resolve(root, "deploy")} deploy`);
    await page.run("npm ci && npm pack");
    await page.run("useradd --system");
    expect(await page.type("cat /etc/systemd/system/pratique-hub.service")).toContain("ExecStart=");
    const { makeToken, hub } = page.commands("(umask 077; printf", "makeToken", "hub");
    await page.type(makeToken);
    await page.hub(hub);
    await page.type(asAdmin);
    const [, , , , , , whoami] = await page.run("kubectl get configmap kube-root-ca.crt");
    expect(whoami).toMatch(/Username +ann\n/);
    await page.type(asAdmin);
    await page.save("apiVersion: rbac.authorization.k8s.io/v1", "role.yaml");
    await page.type("kubectl apply -f role.yaml");
    await page.run("kubectl create clusterrolebinding machine-approvers");
    const [flows = ""] = await page.run("kubectl get flowschemas,prioritylevelconfigurations");
    expect(flows).toContain("flowschema.flowcontrol.apiserver.k8s.io/exempt");
    const [ready = "", writes = ""] = await page.run("curl --cacert ca.crt");
    expect(ready).toContain("readyz check passed");
    expect(writes).toMatch(/ok/);
    const [services = ""] = await page.run("kubectl get apiservices");
    expect(services).toContain("v1.rbac.authorization.k8s.io");
    await page.run("systemctl stop");
    expect(page.left()).toEqual([]);
  }, 120_000);

  test("signing-in.md", async () => {
    const page = await docsPage("signing-in.md", program);
    const { line } = page.commands("pratique hub --oidc-issuer-url", "line");
    await (await page.hub(line)).stop();
    await page.save("apiVersion: apiserver.config.k8s.io/v1", "authentication.yaml");
    await page.hub("pratique hub --authentication-config authentication.yaml");
    expect(page.left()).toEqual([]);
  }, 120_000);

  test("storage.md", async () => {
    const page = await docsPage("storage.md", program);
    page.replace({ "pratique hub": `pratique hub --secure-port ${page.port}` });
    const { start, backup } = page.commands("pratique hub --data-dir", "start", "backup");
    const first = page.start(start);
    await first.until(/^Ready/m);
    await first.stop();
    await page.type(backup);
    await page.type("rm -r /var/backups/pratique-2026-11-22");
    await page.run("cp -a /var/lib/pratique");
    await page.run("mv /var/lib/pratique");
    const second = page.start(start);
    await second.until(/^Ready/m);
    await page.type("export KUBECONFIG=/var/lib/pratique/admin.kubeconfig; pratique revoke user/ann");
    await page.run("pratique revocations export");
    await second.stop();
    await page.start(commandsOf(page.next("pratique hub --data-dir"))[0] ?? "").until(/^Ready/m);
    expect(page.left()).toEqual([]);
  }, 120_000);
});

const onlyAdmin = `package k8s

decision := {"allow": true} if "admin" in input.spec.groups
else := {"deny": true, "reason": "only admin may"}
`;

interface Vertex {
  readonly command: string;
  readonly printed: string;
}

/** The commands of a `console` block, each with what it prints. */
function vertices(body: string): readonly [Vertex, ...Vertex[]] {
  const [first = "", ...rest] = body.split(/^\$ /m).slice(1);
  const vertex = (one: string): Vertex => ({
    command: one.slice(0, one.indexOf("\n")),
    printed: one.slice(one.indexOf("\n") + 1),
  });
  return [vertex(first), ...rest.map(vertex)];
}

/** How long an authorizer took is another number each time. */
function withoutTimes(row: readonly string[]): readonly string[] {
  return row.filter((cell) => !/^\d+(\.\d+)?$/.test(cell));
}

/** Lines of a table by their cells, whose width depends on the other lines. */
function tableRows(printed: string): readonly (readonly string[])[] {
  return printed
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => line.trim().split(/ {2,}/));
}
