// Hub and spoke registration as with Open Cluster Management: one person approves the certificate, another accepts the cluster.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { machine } from "./actor.mjs";
import { startHub } from "./hub.mjs";
import { equal, eventually } from "./stage.mjs";

const clusters = "/apis/cluster.open-cluster-management.io/v1/managedclusters";
const bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
const leases = "/apis/coordination.k8s.io/v1/namespaces/east/leases";
const namespace = "open-cluster-management-agent";
const binding = (user, role) => `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: ${user} }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "open-cluster-management:${role}" }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: User, name: ${user} }]`;

export async function run(stage) {
  stage.text(
    "The cluster east asks to join. sam may approve certificates, ada may accept clusters; each alone admits none.",
  );

  stage.step("The admin of the hub gives sam and ada their roles, and creates a bootstrap kubeconfig for east");
  const hub = await startHub(stage, { flags: ["--managed-clusters"], users: { sam: [], ada: [] } });
  const { admin } = hub;
  await admin.create("sam.yaml", bindings, binding("sam", "approver"));
  await admin.create("ada.yaml", bindings, binding("ada", "accepter"));
  const east = await machine(stage, "east", "klusterlet/kubeconfig");
  await admin.run(["cluster", "token", "--bootstrap-kubeconfig", "east/bootstrap.kubeconfig"]);

  stage.step(
    "east has an API of its own (here a second hub). Its agent registers the cluster and requests a certificate",
  );
  const spoke = await startHub(stage, { name: "spoke" });
  const files = ["--bootstrap-kubeconfig", "bootstrap.kubeconfig", "--spoke-kubeconfig", "../spoke/admin.kubeconfig"];
  const joins = east.start(["cluster", "join", ...files, "--cluster-name", "east", "--dir", "klusterlet"]);
  const [, id] = await joins.says(/agent id (?:is )?(\w{5})/, "the agent id");
  await admin.undecided();
  await admin.run(["pending"]);

  stage.step("sam compares the agent id and approves the certificate. With it alone, the agent may do nothing");
  const signing = hub.person("sam").start(["cluster", "accept", "east", "--agent-id", id]);
  // The last of the files that belong to the certificate.
  await eventually("the certificate of the agent", () => existsSync(join(east.home, "klusterlet/agent-name")));
  await admission(false, undefined);
  await east.kubectl(["get", "leases", "-n", "east"], { path: leases, refused: 'cannot list resource "leases"' });

  stage.step(
    "ada accepts the cluster. The hub creates its namespace and rights, and the agent reports it as available",
  );
  await hub.person("ada").run(["cluster", "accept", "east"]);
  await signing.ends();
  await joins.ends();
  await admission(true, "True");
  await admin.run(["cluster", "list"]);
  await admin.kubectl(["get", "managedclusters"], { path: clusters });
  await east.kubectl(["get", "leases", "-n", "east"], { path: leases });
  await spoke.admin.kubectl(["get", "secrets", "-n", namespace], { path: `/api/v1/namespaces/${namespace}/secrets` });

  stage.step("The admin denies the cluster: the hub revokes its certificate. Then the admin detaches it");
  await admin.run(["cluster", "deny", "east", "--reason", "end of the demo"]);
  await east.kubectl(["get", "leases", "-n", "east"], { path: leases, refused: "Unauthorized" });
  await admin.run(["cluster", "list"]);
  await admin.run(["cluster", "detach", "east"]);
  equal("code of ManagedCluster east", (await admin.api("GET", `${clusters}/east`)).code, 404);
  stage.proven("the hub has nothing of the cluster any more");
  await Promise.all([hub.stop(), spoke.stop()]);

  async function admission(accepted, available) {
    const { spec, status } = (await admin.api("GET", `${clusters}/east`)).body;
    const condition = status?.conditions?.find(({ type }) => type === "ManagedClusterConditionAvailable");
    equal("the cluster is accepted, available", [spec.hubAcceptsClient, condition?.status], [accepted, available]);
  }
}
