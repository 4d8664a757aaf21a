import { expect, test } from "vitest";

import { serviceAccounts } from "./service-account.ts";
import { tableFor } from "../serializer/table.ts";

const context = { user: { username: "u", groups: [] }, now: 0 };
const account = {
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { name: "a", namespace: "n" },
  secrets: [{ name: "s", namespace: "kube-system", kind: "Secret" }],
};

test("keeps of the Secrets it lists their names only, at creation and at an update", () => {
  expect(serviceAccounts.prepareForCreate?.(account, context)["secrets"]).toStrictEqual([{ name: "s" }]);
  expect(serviceAccounts.prepareForUpdate?.(account, account, context)["secrets"]).toStrictEqual([{ name: "s" }]);
});

test("is shown with its name and age", () => {
  expect(tableFor(serviceAccounts, [account], { now: 0 }).rows[0]?.cells).toStrictEqual(["a", "<unknown>"]);
});
