import { describe, expect, it } from "vitest";
import type { Attributes } from "../authorization/authorizer.ts";
import { forbiddenRequest } from "../authorization/forbidden-text.ts";
import { StatusError } from "../apimachinery/status.ts";
import { whyHint } from "./failure.ts";

const asked: Attributes = {
  user: { username: 'a "b"', groups: [] },
  verb: "get",
  group: "apps",
  version: "v1",
  resource: "deployments",
  subresource: "scale",
  namespace: "dev",
  name: "web",
  path: undefined,
};

describe("the hint of a refusal", () => {
  it.each([
    [{}, "get deployments.apps/web --subresource=scale -n dev"],
    [{ group: "", resource: "pods", subresource: "", name: "" }, "get pods -n dev"],
    [{ group: "", resource: "nodes", subresource: "", namespace: "", name: "n1" }, "get nodes/n1"],
  ])("asks about what was refused: %j", (changes, words) => {
    const error = forbiddenRequest({ ...asked, ...changes }, "because");
    expect(whyHint(error)).toBe(`To see what is missing: pratique why ${words}`);
  });

  it.each(["approve", "sign"])("asks about the signer where the right to %s for it is missing", (verb) => {
    const why = `user not permitted to ${verb} requests with signerName "kubernetes.io/kubelet-serving"`;
    const message = `certificatesigningrequests.certificates.k8s.io "a" is forbidden: ${why}`;
    expect(whyHint(new StatusError("Forbidden", message))).toBe(
      `To see what is missing: pratique why ${verb} signers.certificates.k8s.io/kubernetes.io/kubelet-serving`,
    );
    expect(whyHint(new StatusError("Forbidden", message.replace("kubelet-serving", "$(x)")))).toBeUndefined();
  });

  it("asks the same server, as the same caller, where the command line said which", () => {
    const given: Readonly<Record<string, string>> = { kubeconfig: "my files/bob.conf", context: "x" };
    expect(whyHint(forbiddenRequest(asked, ""), { text: (name) => given[name] })).toBe(
      "To see what is missing: pratique why get deployments.apps/web --subresource=scale -n dev --kubeconfig 'my files/bob.conf' --context x",
    );
  });

  it("is not given where admission refused, for a path, or with words that a shell would take otherwise", () => {
    expect(whyHint(new StatusError("Forbidden", "pods is forbidden: no"))).toBeUndefined();
    expect(whyHint(forbiddenRequest({ ...asked, path: "/metrics" }, ""))).toBeUndefined();
    expect(whyHint(forbiddenRequest({ ...asked, resource: "$(x)" }, ""))).toBeUndefined();
    expect(whyHint(forbiddenRequest({ ...asked, namespace: "a;b" }, ""))).toBeUndefined();
    expect(whyHint(forbiddenRequest({ ...asked, name: "$(x)" }, ""))).toBe(
      "To see what is missing: pratique why get deployments.apps --subresource=scale -n dev",
    );
  });
});
