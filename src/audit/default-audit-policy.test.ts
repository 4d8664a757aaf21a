import { describe, expect, test } from "vitest";
import type { UserInfo } from "../apimachinery/user.ts";
import { requestInfo } from "../apiserver/request-info.ts";
import { defaultAuditPolicy } from "./default-audit-policy.ts";

const policy = defaultAuditPolicy();
const node = { username: "system:node:n1", groups: ["system:nodes"] };
const ada: UserInfo = { username: "ada", groups: [] };
const member = { username: "system:serviceaccount:kube-system:credential-controller", groups: [] };
const machine = { username: "system:anonymous", groups: ["system:unauthenticated"] };

function level(user: UserInfo, line: string): string {
  const [method = "", target = ""] = line.split(" ");
  const [path = "", query = ""] = target.split("?");
  const info = requestInfo(method, path, new URLSearchParams(query));
  if (info === undefined) throw new TypeError(line);
  return policy(info, user).level;
}

const access = "/apis/access.pratique.dev/v1alpha1";
const leases = "/apis/coordination.k8s.io/v1/namespaces/n/leases";

describe("without a policy file", () => {
  test.each([
    [ada, "GET /api/v1/namespaces/default/secrets/a"],
    [ada, "GET /api/v1/pods?watch=true"],
    [ada, `PATCH ${access}/accessrequests/a/status`],
    [machine, `POST ${access}/accessrequests`],
    [ada, `GET ${access}/accessrequests`],
    [node, "POST /apis/certificates.k8s.io/v1/certificatesigningrequests"],
    [node, "POST /api/v1/namespaces/n/serviceaccounts/a/token"],
    [node, "PATCH /api/v1/nodes/n1"],
    [ada, `PUT ${access}/issuedcredentials/a/status`],
    [member, `POST ${access}/issuedcredentials`],
    [ada, `DELETE ${leases}/l`],
    [ada, "GET /revocations"],
    [machine, "POST /healthz"],
  ])("%o %s is recorded, without bodies and once", (user, line) => {
    expect(level(user, line)).toBe("Metadata");
  });

  test.each([
    [machine, "GET /healthz"],
    [machine, "GET /readyz/store"],
    [ada, "GET /apis/apps/v1"],
    [ada, "GET /openapi/v3"],
    [ada, "GET /metrics"],
    [node, "POST /api/v1/namespaces/n/events"],
    [node, `PUT ${leases}/n1`],
    [node, "GET /api/v1/pods?watch=true"],
    [node, "PATCH /api/v1/nodes/n1/status"],
    [member, `PUT ${access}/issuedcredentials/a/status`],
    [machine, `GET ${access}/accessrequests/a`],
  ])("%o %s is not: it would fill the disk and hide the rest", (user, line) => {
    expect(level(user, line)).toBe("None");
  });
});
