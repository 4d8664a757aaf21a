import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiClient, type ApiClient } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { metricFamilies, type MetricFamily } from "../kits/metric-families.ts";
import { reportSkip } from "../kits/report-skip.ts";

const root = resolve(import.meta.dirname, "../..");

/** What kube-apiserver 1.36.3 shows at its start and after some requests. */
const recorded = new Map(
  Object.entries(
    JSON.parse(readFileSync(resolve(root, "test/fixtures/kube-apiserver-1.36-metrics.json"), "utf8")) as Record<
      string,
      MetricFamily
    >,
  ),
);

/** What it shows only once something has happened. Source: apiserver pkg/admission/metrics, pkg/audit, pkg/util/flowcontrol/metrics, pkg/authorization/metrics, 1.36. */
const shownLater: Readonly<Record<string, MetricFamily>> = {
  apiserver_admission_webhook_admission_duration_seconds: {
    type: "histogram",
    labels: ["name", "operation", "rejected", "type"],
    buckets: ["0.005", "0.025", "0.1", "0.5", "1", "2.5", "10", "25", "+Inf"],
  },
  apiserver_audit_error_total: { type: "counter", labels: ["plugin"] },
  apiserver_terminated_watchers_total: { type: "counter", labels: ["group", "resource"] },
  apiserver_flowcontrol_rejected_requests_total: {
    type: "counter",
    labels: ["flow_schema", "priority_level", "reason"],
  },
  apiserver_authorization_webhook_evaluations_total: { type: "counter", labels: ["name", "result"] },
  apiserver_authorization_webhook_evaluations_fail_open_total: { type: "counter", labels: ["name", "result"] },
  apiserver_authorization_webhook_duration_seconds: {
    type: "histogram",
    labels: ["name", "result"],
    buckets: ["0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "+Inf"],
  },
  apiserver_authorization_match_condition_exclusions_total: { type: "counter", labels: ["name", "type"] },
  apiserver_authorization_config_controller_automatic_reloads_total: {
    type: "counter",
    labels: ["apiserver_id_hash", "status"],
  },
  apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds: {
    type: "gauge",
    labels: ["apiserver_id_hash", "status"],
  },
};

let hub: TestHub;
let api: ApiClient;
let text = "";
let answeredBytes = 0;
let watched: readonly string[] = [];
let watchedBytes = 0;

beforeAll(async () => {
  hub = await startTestHub();
  api = apiClient(hub, "admin");
  const configMaps = "/api/v1/namespaces/default/configmaps";
  const body = { kind: "ConfigMap", apiVersion: "v1", metadata: { name: "a", labels: { of: "test" } } };
  await api(configMaps, { method: "POST", body });
  answeredBytes = (await api(`${configMaps}/a`)).body.length;
  const stranger = apiClient(hub, { token: "not-a-token" });
  await stranger("/api/v1/nodes");
  stranger.close();
  const watch = await api.stream(`${configMaps}?watch=true&labelSelector=of%3Dtest`);
  await api(`${configMaps}/a`, { method: "DELETE" });
  const events = [await watch.next(), await watch.next()];
  watched = events.map(({ type }) => type);
  watchedBytes = events.reduce((sum, event) => sum + JSON.stringify(event).length + 1, 0);
  text = (await api("/metrics")).text;
  watch.close();
});
afterAll(async () => {
  api.close();
  await hub.close();
});

const isOurs = (name: string): boolean => name.startsWith("pratique_");
// What Prometheus' client library for Node adds under names of its own.
const isLibrary = (name: string): boolean => name.startsWith("nodejs_") || name.startsWith("process_");
describe("the metrics of a hub", () => {
  it("have the type, the labels and the buckets of kube-apiserver 1.36 wherever they have its names", () => {
    const shared = [...metricFamilies(text)].filter(([name]) => !isOurs(name) && !isLibrary(name));
    expect(shared.length).toBeGreaterThan(10);
    const shape = (name: string, family: MetricFamily | undefined): unknown => ({
      name,
      type: family?.type,
      labels: family?.labels,
      buckets: family?.buckets,
    });
    // One that has no series yet shows no labels.
    const found = shared.filter(([, { labels }]) => labels !== undefined);
    expect(found.map(([name, family]) => shape(name, family))).toEqual(
      found.map(([name]) => shape(name, recorded.get(name) ?? shownLater[name])),
    );
    expect(
      shared.map(([name]) => name).filter((name) => !recorded.has(name) && shownLater[name] === undefined),
    ).toEqual([]);
  });

  it("have the types of Kubernetes for what the process is", () => {
    const process = [...metricFamilies(text)].filter(([name]) => name.startsWith("process_") && recorded.has(name));
    expect(process.length).toBeGreaterThan(3);
    expect(process.map(([name, { type }]) => [name, type])).toEqual(
      process.map(([name]) => [name, recorded.get(name)?.type]),
    );
  });

  it("count a request with the verb, scope and version that Kubernetes gives it", () => {
    const labels = (verb: string, scope: string): string =>
      `component="apiserver",dry_run="",group="",resource="configmaps",scope="${scope}",subresource="",verb="${verb}",version="v1"`;
    expect(text).toContain(`apiserver_request_total{code="201",${labels("POST", "resource")}} 1\n`);
    expect(text).toContain(`apiserver_request_total{code="200",${labels("GET", "resource")}} 1\n`);
    expect(text).toContain(`apiserver_request_duration_seconds_bucket{${labels("GET", "resource")},le="60"} 1\n`);
    expect(text).toContain(
      'apiserver_longrunning_requests{component="apiserver",group="",resource="configmaps",scope="namespace",subresource="",verb="WATCH",version="v1"} 1\n',
    );
    expect(text).toContain('apiserver_current_inflight_requests{request_kind="readOnly"} 1\n');
  });

  it("show the kinds that are kept, how long requests took without their wait, and quantiles of admission", () => {
    const shown = metricFamilies(text);
    const wanted = [
      "apiserver_resource_objects",
      "apiserver_request_sli_duration_seconds",
      "apiserver_admission_step_admission_duration_seconds_summary",
    ];
    expect(wanted.map((name) => [name, shown.get(name)])).toEqual(wanted.map((name) => [name, recorded.get(name)]));
    const objects = [...text.matchAll(/^apiserver_resource_objects\{group="([^"]*)",resource="([^"]*)"\} (\d+)$/gm)];
    const kinds = objects.map(([, group = "", resource = ""]) => `${resource}.${group}`);
    expect(new Set(kinds).size).toBe(kinds.length);
    expect(kinds).toEqual(expect.arrayContaining(["namespaces.", "clusterroles.rbac.authorization.k8s.io"]));
    // Reviews are answered, and not kept.
    expect(kinds.filter((kind) => kind.includes("review"))).toEqual([]);
    expect(text).toMatch(/^apiserver_resource_objects\{group="",resource="namespaces"\} [4-9]$/m);
    const labels =
      'component="apiserver",group="",resource="configmaps",scope="resource",subresource="",verb="GET",version="v1"';
    expect(text).toContain(`apiserver_request_sli_duration_seconds_bucket{${labels},le="60"} 1\n`);
    expect(text).toMatch(
      /^apiserver_admission_step_admission_duration_seconds_summary\{operation="CREATE",rejected="false",type="admit",quantile="0.99"\} [\d.e-]+$/m,
    );
  });

  it("count who was authenticated, with certificates of which end, what was answered and what watches were sent", () => {
    const value = (series: string): number => {
      const line = text.split("\n").find((one) => one.startsWith(`${series} `));
      return Number(line?.slice(series.length + 1) ?? Number.NaN);
    };
    // The one that asks for the metrics is the last that was counted.
    const asked = value('authentication_attempts{result="success"}');
    expect(asked).toBeGreaterThanOrEqual(5);
    expect(value('authentication_attempts{result="error"}')).toBe(1);
    expect(value('authentication_attempts{result="failure"}')).toBe(0);
    expect(value('authenticated_user_requests{username="other"}')).toBe(asked);
    const ends = "apiserver_client_certificate_expiration_seconds";
    expect(value(`${ends}_bucket{le="0"}`)).toBe(0);
    expect(value(`${ends}_bucket{le="+Inf"}`)).toBeGreaterThanOrEqual(5);
    const read =
      'component="apiserver",group="",resource="configmaps",scope="resource",subresource="",verb="GET",version="v1"';
    expect(value(`apiserver_response_sizes_count{${read}}`)).toBe(1);
    expect(value(`apiserver_response_sizes_sum{${read}}`)).toBe(answeredBytes);
    expect(text).not.toMatch(/^apiserver_response_sizes_count\{.*verb="(POST|DELETE|WATCH)"/m);
    expect(watched).toEqual(["ADDED", "DELETED"]);
    expect(value('apiserver_watch_events_total{group="",resource="configmaps",version="v1"}')).toBe(2);
  });

  it("count what admission took and what the controllers' clients were answered", () => {
    const plugin = 'name="NamespaceLifecycle",operation="CREATE",rejected="false",type="admit"';
    expect(text).toMatch(
      new RegExp(`^apiserver_admission_controller_admission_duration_seconds_count\\{${plugin}\\} [1-9]`, "m"),
    );
    const { host } = new URL(hub.url);
    for (const [method, code] of [
      ["GET", "200"],
      ["POST", "201"],
    ]) {
      expect(text).toMatch(
        new RegExp(`^rest_client_requests_total\\{code="${code}",host="${host}",method="${method}"\\} [1-9]`, "m"),
      );
    }
  });

  it("say how long authentication, authorization, admission and the controllers' calls took", () => {
    const count = (series: string): number => {
      const line = text.split("\n").find((one) => one.startsWith(`${series} `));
      return Number(line?.slice(series.length + 1) ?? Number.NaN);
    };
    const attempts = count('authentication_attempts{result="success"}');
    expect(count('authentication_duration_seconds_count{result="success"}')).toBe(attempts);
    expect(count('authentication_duration_seconds_count{result="error"}')).toBe(1);
    // Who was not authenticated is not authorized either.
    expect(count('authorization_attempts_total{result="allowed"}')).toBe(attempts);
    expect(count('authorization_duration_seconds_count{result="allowed"}')).toBe(attempts);
    const step = "apiserver_admission_step_admission_duration_seconds";
    for (const type of ["admit", "validate"])
      expect(count(`${step}_count{operation="CREATE",rejected="false",type="${type}"}`)).toBeGreaterThanOrEqual(1);
    const host = new URL(hub.url).host;
    expect(count(`rest_client_request_duration_seconds_count{host="${host}",verb="POST"}`)).toBeGreaterThanOrEqual(1);
  });

  it("say how long the events were that watches were sent", () => {
    const sizes = 'apiserver_watch_events_sizes_bucket{group="",resource="configmaps",version="v1",le=';
    expect(text).toContain(`${sizes}"1024"} 2\n`);
    expect(text).toContain(`${sizes}"+Inf"} 2\n`);
    const [, sum] =
      /^apiserver_watch_events_sizes_sum\{group="",resource="configmaps",version="v1"\} (\d+)$/m.exec(text) ?? [];
    expect(Number(sum)).toBe(watchedBytes);
  });

  it("count a request that is refused, and a write that admission refuses, as such", async () => {
    const anonymous = apiClient(hub, "anonymous");
    await anonymous("/api/v1/secrets");
    anonymous.close();
    const body = { kind: "ConfigMap", apiVersion: "v1", metadata: { name: "a" } };
    await api("/api/v1/namespaces/nowhere/configmaps", { method: "POST", body });
    const { text: later } = await api("/metrics");
    expect(later).toContain('authorization_attempts_total{result="no-opinion"} 1\n');
    expect(later).toContain('authorization_duration_seconds_count{result="no-opinion"} 1\n');
    expect(later).toContain(
      'apiserver_admission_step_admission_duration_seconds_count{operation="CREATE",rejected="true",type="admit"} 1\n',
    );
  });

  it("tell what waits, when certificates end, and how the store stands", () => {
    expect(text).toContain("pratique_store_writable 1\n");
    expect(text).toMatch(/^pratique_store_free_bytes [1-9]\d*$/m);
    expect(text).toMatch(/^pratique_store_commit_duration_seconds_count [1-9]\d*$/m);
    expect(text).toContain('pratique_pending_requests{resource="certificatesigningrequests"} 0\n');
    for (const certificate of ["ca", "serving", "admin.kubeconfig"]) {
      expect(text).toMatch(
        new RegExp(
          `^pratique_certificate_expiration_timestamp_seconds\\{certificate="${certificate}"\\} \\d{10}$`,
          "m",
        ),
      );
    }
  });

  it("do not grow by what clients make up", async () => {
    const series = async (): Promise<number> =>
      (await api("/metrics")).text.split("\n").filter((line) => line.startsWith("apiserver_")).length;
    const strange = async (round: number): Promise<void> => {
      for (const path of ["nothing", "configmaps", "configmaps/a/b", "x/y/z"]) {
        await api(`/apis/g${round}.example/v${round}/namespaces/n${round}/${path}${round}`);
        await api(`/api/v1/namespaces/default/configmaps/a/sub${round}`);
        await api(`/path${round}/${path}`);
        await api(`/api/v1/${path}${round}`, { method: "PROPFIND" });
      }
    };
    await strange(0);
    const before = await series();
    for (let round = 1; round < 20; round += 1) await strange(round);
    expect(await series()).toBe(before);
  });

  it("are all listed in docs/metrics.md, which lists no others", () => {
    const page = readFileSync(resolve(root, "docs/metrics.md"), "utf8");
    const listed = [...page.matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, name = ""]) => name);
    const exposed = [...metricFamilies(text).keys()].filter((name) => !isLibrary(name));
    expect(listed.toSorted()).toEqual(exposed.toSorted());
  });

  const promtool = spawnSync("promtool", ["--version"]).status === 0;
  if (!promtool)
    reportSkip(
      "pass promtool check metrics where they are ours",
      "promtool of Debian's package prometheus is absent",
      "debian",
    );
  it.skipIf(!promtool)("pass promtool check metrics where they are ours", () => {
    const ours = text.split(/^(?=# HELP )/m).filter((family) => family.startsWith("# HELP pratique_"));
    const { status, stderr } = spawnSync("promtool", ["check", "metrics"], { input: ours.join("") });
    expect({ status, stderr: stderr.toString() }).toEqual({ status: 0, stderr: "" });
  });
});
