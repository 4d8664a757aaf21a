import { expect, test } from "vitest";
import type { ApiObject } from "../apimachinery/object.ts";
import { services } from "./service.ts";

test("a service is selected by its address and its type, as kubelets ask", () => {
  const spec = { clusterIP: "None", type: "ClusterIP" };
  const headless: ApiObject = { apiVersion: "v1", kind: "Service", metadata: { name: "s" }, spec };
  const fields = Object.entries(services.selectableFields ?? {}).map(([name, read]) => [name, read(headless)]);
  expect(fields).toEqual([
    ["spec.clusterIP", "None"],
    ["spec.type", "ClusterIP"],
  ]);
});
