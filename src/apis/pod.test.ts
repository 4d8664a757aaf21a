import { describe, expect, test } from "vitest";
import type { FieldError } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { tableFor } from "../serializer/table.ts";
import { pods } from "./pod.ts";

const context = { user: { username: "u", groups: [] }, now: 0 };

function pod(spec: object, status: object = {}): ApiObject {
  return { apiVersion: "v1", kind: "Pod", metadata: { name: "a", namespace: "n" }, spec, status };
}

function made(spec: object): ApiObject {
  const object = pod(spec);
  return pods.prepareForCreate?.(object, context) ?? object;
}

function said(errors: readonly FieldError[] | undefined): readonly string[] {
  return (errors ?? []).map((error) => `${error.path}: ${error.message}`);
}

const one = { containers: [{ name: "c", image: "i" }] };

describe("creating a pod", () => {
  test("fills in what clients expect to read back", () => {
    expect(made(one)).toStrictEqual({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "a", namespace: "n" },
      spec: {
        containers: [
          {
            name: "c",
            image: "i",
            terminationMessagePath: "/dev/termination-log",
            terminationMessagePolicy: "File",
            resources: {},
            imagePullPolicy: "Always",
          },
        ],
        restartPolicy: "Always",
        dnsPolicy: "ClusterFirst",
        terminationGracePeriodSeconds: 30,
        schedulerName: "default-scheduler",
        enableServiceLinks: true,
        securityContext: {},
      },
      status: { phase: "Pending", qosClass: "BestEffort" },
    });
  });

  test("counts a negative grace period as one second", () => {
    expect(made({ ...one, terminationGracePeriodSeconds: -1 })["spec"]).toMatchObject({
      terminationGracePeriodSeconds: 1,
    });
  });

  test("keeps what its author said", () => {
    const spec = made({ ...one, restartPolicy: "Never", enableServiceLinks: false, terminationGracePeriodSeconds: 0 })[
      "spec"
    ];
    expect(spec).toMatchObject({ restartPolicy: "Never", enableServiceLinks: false, terminationGracePeriodSeconds: 0 });
  });

  test.each([
    ["i", "Always"],
    ["i:latest", "Always"],
    ["host:5000/i", "Always"],
    ["i:1.2", "IfNotPresent"],
    ["host:5000/i:1.2", "IfNotPresent"],
    ["i@sha256:00", "IfNotPresent"],
    ["i:latest@sha256:00", "Always"],
  ])("pulls %s %s", (image, imagePullPolicy) => {
    expect(made({ containers: [{ name: "c", image }] })["spec"]).toMatchObject({ containers: [{ imagePullPolicy }] });
  });

  test("completes ports, probes, volumes, variables, requests and the account", () => {
    const spec = made({
      hostNetwork: true,
      serviceAccountName: "sa",
      volumes: [
        { name: "v" },
        { name: "s", secret: { secretName: "s" } },
        { name: "p", projected: { sources: [{ serviceAccountToken: {} }] } },
      ],
      containers: [
        {
          ...one.containers[0],
          ports: [{ containerPort: 80 }],
          livenessProbe: { httpGet: { port: 80 } },
          env: [{ name: "E", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
          resources: { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "500m" } },
        },
      ],
    })["spec"];
    expect(spec).toMatchObject({
      serviceAccountName: "sa",
      serviceAccount: "sa",
      volumes: [
        { name: "v", emptyDir: {} },
        { name: "s", secret: { secretName: "s", defaultMode: 420 } },
        { name: "p", projected: { defaultMode: 420, sources: [{ serviceAccountToken: { expirationSeconds: 3600 } }] } },
      ],
      containers: [
        {
          ports: [{ containerPort: 80, hostPort: 80, protocol: "TCP" }],
          livenessProbe: {
            httpGet: { port: 80, path: "/", scheme: "HTTP" },
            timeoutSeconds: 1,
            periodSeconds: 10,
            successThreshold: 1,
            failureThreshold: 3,
          },
          env: [{ name: "E", valueFrom: { fieldRef: { fieldPath: "metadata.name", apiVersion: "v1" } } }],
          resources: { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "500m", memory: "1Gi" } },
        },
      ],
    });
  });

  test.each([
    [{}, "BestEffort"],
    [{ requests: { cpu: "0" } }, "BestEffort"],
    [{ requests: { cpu: "1" } }, "Burstable"],
    [{ limits: { cpu: "1" } }, "Burstable"],
    [{ limits: { cpu: "1", memory: "1Gi" } }, "Guaranteed"],
    [{ limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "1000m", memory: "1024Mi" } }, "Guaranteed"],
    [{ limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "999m" } }, "Burstable"],
  ])("with resources %j is %s", (resources, qosClass) => {
    expect(made({ containers: [{ name: "c", image: "i", resources }] })["status"]).toMatchObject({ qosClass });
  });
});

describe("a pod", () => {
  const label =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
  const cases: Readonly<Record<string, { readonly spec: object; readonly errors: readonly string[] }>> = {
    "needs a container": { spec: {}, errors: ["spec.containers: Required value"] },
    "needs a name and an image for each": {
      spec: { containers: [{}] },
      errors: ["spec.containers[0].name: Required value", "spec.containers[0].image: Required value"],
    },
    "has containers named by DNS labels": {
      spec: { containers: [{ name: "C", image: "i" }] },
      errors: [`spec.containers[0].name: Invalid value: "C": ${label}`],
    },
    "has no two containers of one name": {
      spec: { ...one, initContainers: [{ name: "c", image: "i" }] },
      errors: ['spec.initContainers[0].name: Duplicate value: "c"'],
    },
    "knows three restart policies": {
      spec: { ...one, restartPolicy: "Sometimes" },
      errors: ['spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"'],
    },
    "knows four DNS policies": {
      spec: { ...one, dnsPolicy: "x" },
      errors: [
        'spec.dnsPolicy: Unsupported value: "x": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
      ],
    },
    "has a deadline of a second or more": {
      spec: { ...one, activeDeadlineSeconds: 0 },
      errors: ["spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"],
    },
    "has ports that exist": {
      spec: { containers: [{ ...one.containers[0], ports: [{ containerPort: 65_536 }, {}] }] },
      errors: [
        "spec.containers[0].ports[0].containerPort: Invalid value: 65536: must be between 1 and 65535, inclusive",
        "spec.containers[0].ports[1].containerPort: Required value",
      ],
    },
  };
  test.each(Object.entries(cases))("%s", (_title, { spec, errors }) => {
    expect(said(pods.validate?.(made(spec)))).toStrictEqual(errors);
  });
});

describe("updating a pod", () => {
  const tolerations = [{ key: "a", operator: "Exists" }];
  const stored = made({ ...one, activeDeadlineSeconds: 60, tolerations });
  const only =
    "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
  const rest = { ...one, activeDeadlineSeconds: 60, tolerations };
  const cases: Readonly<Record<string, { readonly spec: object; readonly errors: readonly string[] }>> = {
    "may change nothing, defaults left out": { spec: rest, errors: [] },
    "may change an image": {
      spec: { ...rest, containers: [{ name: "c", image: "j", imagePullPolicy: "Always" }] },
      errors: [],
    },
    "may bring the deadline nearer": { spec: { ...rest, activeDeadlineSeconds: 30 }, errors: [] },
    "may not put the deadline off": {
      spec: { ...rest, activeDeadlineSeconds: 61 },
      errors: ["spec.activeDeadlineSeconds: Invalid value: 61: must be less than or equal to previous value"],
    },
    "may not lift the deadline": {
      spec: { ...one, tolerations },
      errors: [
        'spec.activeDeadlineSeconds: Invalid value: "null": must not update from a positive integer to nil value',
      ],
    },
    "may add a toleration and change its seconds": {
      spec: {
        ...rest,
        tolerations: [
          { ...tolerations[0], tolerationSeconds: 5 },
          { key: "b", operator: "Exists" },
        ],
      },
      errors: [],
    },
    "may not take a toleration away": {
      spec: { ...rest, tolerations: [] },
      errors: ["spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"],
    },
    "may not add a container": {
      spec: { ...rest, containers: [...one.containers, { name: "d", image: "i" }] },
      errors: ["spec.containers: Forbidden: pod updates may not add or remove containers"],
    },
    "may not move it to another node": { spec: { ...rest, nodeName: "x" }, errors: [only] },
    "may not change its account": { spec: { ...rest, serviceAccountName: "admin" }, errors: [only] },
    "may not change its grace period": { spec: { ...rest, terminationGracePeriodSeconds: 1 }, errors: [only] },
  };
  test.each(Object.entries(cases))("%s", (_title, { spec, errors }) => {
    const next = pods.prepareForUpdate?.(pod(spec), stored, context) ?? stored;
    expect(said(pods.validateUpdate?.(next, stored))).toStrictEqual(errors);
  });

  test("leaves the status alone", () => {
    const next = pods.prepareForUpdate?.(pod(rest, { phase: "Running" }), stored, context);
    expect(next?.["status"]).toStrictEqual(stored["status"]);
  });

  test("through status leaves spec, owners and class alone", () => {
    const incoming = { ...pod({}, { phase: "Running" }), metadata: { name: "a", ownerReferences: [] } };
    expect(pods.subresources["status"]?.prepareForUpdate?.(incoming, stored, context)).toStrictEqual({
      ...incoming,
      metadata: { name: "a" },
      spec: stored["spec"],
      status: { phase: "Running", qosClass: "BestEffort" },
    });
  });
});

describe("deleting a pod", () => {
  const thirty = { nodeName: "x", terminationGracePeriodSeconds: 30 };
  const cases: Readonly<
    Record<string, { readonly object: ApiObject; readonly requested?: number; readonly seconds: number }>
  > = {
    "waits for nothing off a node": { object: pod({}), seconds: 0 },
    "waits for nothing once it ended": { object: pod(thirty, { phase: "Succeeded" }), seconds: 0 },
    "waits for its own period on a node": { object: pod(thirty), seconds: 30 },
    "waits as long as is asked": { object: pod(thirty), requested: 0, seconds: 0 },
    "waits a second for a negative period": {
      object: pod({ ...thirty, terminationGracePeriodSeconds: -1 }),
      seconds: 1,
    },
  };
  test.each(Object.entries(cases))("%s", (_title, { object, requested, seconds }) => {
    expect(pods.deletion?.graceSeconds?.(object, requested)).toBe(seconds);
  });
});

describe("a pod's row", () => {
  const waiting = (reason: string): object => ({ state: { waiting: { reason } } });
  const running = {
    ready: true,
    restartCount: 2,
    state: { running: {} },
    lastState: { terminated: { finishedAt: "1970-01-01T00:00:00Z" } },
  };
  const rows: Readonly<Record<string, { readonly status: object; readonly cells: readonly unknown[] }>> = {
    "shows the phase of a pod that nobody runs": { status: { phase: "Pending" }, cells: ["0/2", "Pending", "0"] },
    "shows restarts and the last of them": {
      status: { phase: "Running", containerStatuses: [running, running] },
      cells: ["2/2", "Running", "4 (10s ago)"],
    },
    "shows why the first container waits": {
      status: { phase: "Pending", containerStatuses: [waiting("ErrImagePull"), waiting("CrashLoopBackOff")] },
      cells: ["0/2", "ErrImagePull", "0"],
    },
    "shows how a container ended": {
      status: { phase: "Failed", containerStatuses: [{ state: { terminated: { exitCode: 3 } } }] },
      cells: ["0/2", "ExitCode:3", "0"],
    },
    "shows a running pod of which one container is done": {
      status: {
        phase: "Running",
        conditions: [{ type: "Ready", status: "True" }],
        containerStatuses: [{ state: { terminated: { exitCode: 0, reason: "Completed" } } }, running],
      },
      cells: ["1/2", "Running", "2 (10s ago)"],
    },
    "shows how far the init containers are": {
      status: {
        phase: "Pending",
        initContainerStatuses: [{ state: { terminated: { exitCode: 0 } } }, waiting("PodInitializing")],
      },
      cells: ["0/2", "Init:1/2", "0"],
    },
    "shows how an init container failed": {
      status: {
        phase: "Pending",
        initContainerStatuses: [{ state: { terminated: { exitCode: 1, reason: "Error" } } }],
      },
      cells: ["0/2", "Init:Error", "0"],
    },
  };
  const spec = { containers: [{ name: "c" }, { name: "d" }], initContainers: [{ name: "e" }, { name: "f" }] };
  test.each(Object.entries(rows))("%s", (_title, { status, cells }) => {
    expect(tableFor(pods, [pod(spec, status)], { now: 10_000 }).rows[0]?.cells.slice(1, 4)).toStrictEqual(cells);
  });

  test("shows a pod that is on its way out, and the wide columns", () => {
    const going = {
      ...pod(
        { ...spec, nodeName: "x", readinessGates: [{ conditionType: "g" }, { conditionType: "h" }] },
        { podIPs: [{ ip: "10.0.0.1" }], conditions: [{ type: "g", status: "True" }] },
      ),
      metadata: { name: "a", deletionTimestamp: "1970-01-01T00:00:00Z" },
    };
    expect(tableFor(pods, [going], { now: 0 }).rows[0]?.cells).toStrictEqual([
      "a",
      "0/2",
      "Terminating",
      "0",
      "<unknown>",
      "10.0.0.1",
      "x",
      "<none>",
      "1/2",
    ]);
  });
});

test("is selected by node, phase, policy, account and address", () => {
  const object = pod(
    { nodeName: "x", restartPolicy: "Never", schedulerName: "s", serviceAccountName: "sa", hostNetwork: true },
    { phase: "Running", podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }], nominatedNodeName: "y" },
  );
  const selected = Object.entries(pods.selectableFields ?? {}).map(([label, value]) => `${label}=${value(object)}`);
  expect(selected).toStrictEqual([
    "spec.nodeName=x",
    "spec.restartPolicy=Never",
    "spec.schedulerName=s",
    "spec.serviceAccountName=sa",
    "spec.hostNetwork=true",
    "status.phase=Running",
    "status.podIP=10.0.0.1",
    "status.podIPs=10.0.0.1,fd00::1",
    "status.nominatedNodeName=y",
  ]);
});
