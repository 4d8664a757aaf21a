// A machine without a credential posts a public key; an approver decides; token and CA come encrypted to that key.
import { readdir, readFile, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import { machine } from "./actor.mjs";
import { startHub } from "./hub.mjs";
import { equal, eventually } from "./stage.mjs";

const group = "/apis/access.pratique.dev/v1alpha1";
const configMaps = "/api/v1/namespaces/default/configmaps";
const secrets = "/api/v1/namespaces/default/secrets";
const profile = `
apiVersion: access.pratique.dev/v1alpha1
kind: AccessProfile
metadata:
  name: viewers
  annotations: { access.pratique.dev/is-default-profile: "true" }
spec:
  namespace: default # the ServiceAccount of the machine is created there
  roles:
    - { kind: ClusterRole, name: view } # and bound to this role`;
const approvers = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: approvers }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "pratique:access-approver" }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: Group, name: approvers }]`;

export async function run(stage) {
  stage.text(
    "The admin sets up the hub, the machine vm-1 requests access, and ada, an approver, decides. vm-1 has no secret.",
  );

  stage.step("The admin says what an approval grants, and who may approve");
  const hub = await startHub(stage, { users: { ada: ["approvers"] } });
  await hub.admin.create("profile.yaml", `${group}/accessprofiles`, profile);
  await hub.admin.create("approvers.yaml", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", approvers);

  stage.step("vm-1 generates a key pair, posts the public key anonymously, and shows six words");
  const vm = await machine(stage, "vm-1", "access/kubeconfig");
  const asking = vm.start(["request", hub.address, "--name", "vm-1", "--dir", "access", "--claim", "rack=7"]);
  const [, words] = await asking.says(/--words "([a-z ]+)"/, "the words");

  stage.step("ada reads the request, and gives the words that she was told from the screen of vm-1");
  const ada = hub.person("ada");
  await ada.run(["pending"]);
  await ada.run(["approve", "accessrequest/vm-1", "--words", "apple bird cloud door eagle farm"], 4);
  stage.proven("other words mean another key or another CA: nothing is granted");
  await ada.run(["approve", "accessrequest/vm-1", "--words", words]);

  stage.step("The hub encrypts token and CA to the key of vm-1, which writes a kubeconfig");
  await asking.ends();
  equal("mode of the kubeconfig", ((await stat(vm.file)).mode & 0o777).toString(8), "600");
  const token = /ey[\w-]+\.[\w-]+\.[\w-]+/.exec(await contents(vm.home))?.[0] ?? "";
  equal("parts of the token", token.split(".").length, 3);
  const stored = JSON.stringify((await hub.admin.api("GET", `${group}/accessrequests/vm-1`)).body);
  equal("the hub keeps the token", (stored + (await contents(stage.folder, "vm-1"))).includes(token), false);
  stage.proven("the token is in no file of the hub and not in the AccessRequest: only vm-1 can decrypt it");

  stage.step("vm-1 may do what the profile grants, and no more");
  await vm.kubectl(["get", "configmaps"], { path: configMaps });
  await vm.kubectl(["get", "secrets"], { path: secrets, refused: 'cannot list resource "secrets"' });
  await vm.run(["agent", "--dir", "access", "--status"]);

  stage.step("ada revokes the access");
  await ada.run(["revoke", "accessrequest/vm-1", "--reason", "end of the demo"]);
  await eventually("the hub to refuse the token", async () => (await vm.api("GET", configMaps)).code === 401);
  await vm.run(["agent", "--dir", "access", "--status"], 4);
  stage.proven("the hub refuses the token, and the agent on vm-1 says what to do");
  await hub.stop();
}

/** All files below a folder as one text, without those below `except`. */
async function contents(folder, except) {
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name));
  const chosen = paths.filter((path) => relative(folder, path).split("/")[0] !== except);
  return (await Promise.all(chosen.map((path) => readFile(path, "latin1")))).join("\n");
}
