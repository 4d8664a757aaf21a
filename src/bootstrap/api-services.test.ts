import { expect, it } from "vitest";
import { memoryApi } from "../../test/kits/memory-api.ts";
import { fakeClock } from "../../test/kits/fake-clock.ts";
import { apiServiceName } from "../controllers/custom-resources/api-service-registration.ts";
import { apiServices } from "../apis/api-service.ts";
import { configMaps } from "../apis/config-map.ts";
import { leases } from "../apis/lease.ts";
import { secrets } from "../apis/secret.ts";
import { apiServicesCheck, putApiServices } from "./api-services.ts";

it("a start writes what is missing or different, and removes what an earlier start wrote and no kind has any more", async () => {
  const clock = fakeClock();
  const api = memoryApi({ clock });
  const client = api.client;
  await putApiServices(client, [configMaps, secrets, leases], clock);
  expect(api.all(apiServices).map(({ metadata }) => metadata.name)).toEqual(["v1.", "v1.coordination.k8s.io"]);
  const [core] = api.all(apiServices);
  const wanted = core?.["spec"];
  await client.patch(apiServices, { name: "v1." }, { spec: { versionPriority: 99 } });
  const labels = { "kube-aggregator.kubernetes.io/automanaged": "true" };
  const custom = { apiVersion: "apiregistration.k8s.io/v1", kind: "APIService", spec: {} };
  await client.create(apiServices, { ...custom, metadata: { name: "v1.example.com", labels } });
  await putApiServices(client, [configMaps], clock);
  expect(api.all(apiServices).map(({ metadata }) => metadata.name)).toEqual(["v1.", "v1.example.com"]);
  expect(api.all(apiServices)[0]?.["spec"]).toEqual(wanted);
});

it("the health check names the group versions without an APIService", () => {
  const entry = (name: string): never => ({ key: `/registry/apiregistration.k8s.io/apiservices/${name}` }) as never;
  const check = (names: readonly string[]): (() => void) =>
    apiServicesCheck({ list: () => names.map(entry) }, () => [configMaps, leases, apiServices]);
  expect(check(["v1."])).toThrow("missing APIService: [v1.coordination.k8s.io]");
  expect(check([])).toThrow("missing APIService: [v1. v1.coordination.k8s.io]");
  expect(check([apiServiceName(configMaps), apiServiceName(leases)])).not.toThrow();
});
