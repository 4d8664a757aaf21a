import type { WorkQueueObserver } from "./workqueue.ts";
import { familiesText, histogram, labelText, type Family } from "../metrics/family.ts";

/** Metrics of the queues of controllers. */
export interface WorkQueueMetrics {
  /** The observer of the queue of this name; call it again when the controller is restarted. */
  readonly of: (name: string) => WorkQueueObserver;
  /** Prometheus text. */
  readonly text: () => string;
}

interface Queue {
  readonly labels: string;
  adds: number;
  retries: number;
  readonly waitingSince: Map<string, number>;
  readonly runningSince: Map<string, number>;
}

/** Ten nanoseconds, tenfold nine times, as Go counts. Source: component-base metrics/prometheus/workqueue. */
const bounds: readonly number[] = [
  1e-8, 1e-7, 1e-6, 9.999999999999999e-6, 9.999999999999999e-5, 0.001, 0.01, 0.1, 1, 10,
];

/** Metrics under the names of Kubernetes; `now` in milliseconds of a monotonic clock. Source: component-base metrics/prometheus/workqueue. */
export function workQueueMetrics(now: () => number): WorkQueueMetrics {
  const queues = new Map<string, Queue>();
  const queued = histogram({ name: "workqueue_queue_duration_seconds", help: "How long keys waited.", bounds });
  const worked = histogram({ name: "workqueue_work_duration_seconds", help: "How long keys took.", bounds });
  return {
    of: (name) => {
      const queue = queueOf(queues, name);
      // Keys that waited when the controller stopped were dropped.
      queue.waitingSince.clear();
      return {
        added: (id) => {
          queue.adds += 1;
          queue.waitingSince.set(id, now());
        },
        started: (id) => {
          queued.observe(queue.labels, (now() - (queue.waitingSince.get(id) ?? now())) / 1000);
          queue.waitingSince.delete(id);
          queue.runningSince.set(id, now());
        },
        finished: (id, isRetried) => {
          worked.observe(queue.labels, (now() - (queue.runningSince.get(id) ?? now())) / 1000);
          queue.runningSince.delete(id);
          if (isRetried) queue.retries += 1;
        },
      };
    },
    text: () => familiesText(gauges([...queues.values()], now())) + queued.text() + worked.text(),
  };
}

function queueOf(queues: Map<string, Queue>, name: string): Queue {
  const known = queues.get(name);
  if (known !== undefined) return known;
  const labels = labelText({ name });
  const queue: Queue = { labels, adds: 0, retries: 0, waitingSince: new Map(), runningSince: new Map() };
  queues.set(name, queue);
  return queue;
}

function gauges(queues: readonly Queue[], at: number): readonly Family[] {
  const family = (name: string, help: string, valueOf: (queue: Queue) => number): Family => ({
    name: `workqueue_${name}`,
    type: name.endsWith("_total") ? "counter" : "gauge",
    help,
    samples: queues.map((queue) => [queue.labels, valueOf(queue)]),
  });
  const ages = ({ runningSince }: Queue): readonly number[] =>
    [...runningSince.values()].map((since) => (at - since) / 1000);
  return [
    family("depth", "Keys that wait.", ({ waitingSince }) => waitingSince.size),
    family("adds_total", "Keys that were added.", ({ adds }) => adds),
    family("retries_total", "Keys that are tried again.", ({ retries }) => retries),
    family("unfinished_work_seconds", "How long all keys under way have taken so far.", (queue) =>
      ages(queue).reduce((sum, age) => sum + age, 0),
    ),
    family("longest_running_processor_seconds", "How long the oldest key under way has taken so far.", (queue) =>
      Math.max(0, ...ages(queue)),
    ),
  ];
}
