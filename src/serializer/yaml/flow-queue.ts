/** Work of a flow: of one client, in the order of arrival. */
export interface FlowJob {
  readonly flow: string;
  readonly characters: number;
}

/** How much may wait or be under way, over all flows and per flow. */
export interface FlowQueueLimits {
  readonly maxJobs: number;
  readonly maxJobsOfFlow: number;
  readonly maxCharacters: number;
  readonly maxCharactersOfFlow: number;
}

/** Jobs that are done one after the other; flows take turns. */
export interface FlowQueue<Job extends FlowJob> {
  /**
   * Adds a job, and returns the jobs that leave the queue for it: where the queue is full, the newest ones of the flow that has most in
   * it. `flow-full` where the flow has as much as one may have, `full` where no flow has more than this one would have.
   */
  readonly add: (job: Job) => readonly Job[] | "flow-full" | "full";
  /** Removes and returns the next job of the queue; it is counted until it has ended. */
  readonly next: () => Job | undefined;
  /** To be called once with each job that was returned by `next`. */
  readonly end: (job: Job) => void;
  /** Empties the queue, and returns the waiting jobs. */
  readonly clear: () => readonly Job[];
}

interface Flow<Job> {
  /** Those under way included. */
  jobs: number;
  characters: number;
  readonly waiting: Job[];
}

interface FlowShares<Job> {
  readonly flows: Map<string, Flow<Job>>;
  readonly isFull: (job: Job) => boolean;
  readonly share: (jobs: number, characters: number) => number;
  readonly count: (flow: Flow<Job>, job: Job, sign: 1 | -1) => void;
  /** The flow with the largest share that has a waiting job, if that share is larger than `least`. */
  readonly largest: (least: number) => Flow<Job> | undefined;
  readonly append: (job: Job) => void;
}

function flowShares<Job extends FlowJob>(limits: FlowQueueLimits): FlowShares<Job> {
  // In the order of turns: a flow goes to the end when its job has ended.
  const flows = new Map<string, Flow<Job>>();
  const all = { jobs: 0, characters: 0 };

  const share = (jobs: number, characters: number): number =>
    Math.max(jobs / limits.maxJobs, characters / limits.maxCharacters);
  const count = (flow: Flow<Job>, job: Job, sign: 1 | -1): void => {
    flow.jobs += sign;
    flow.characters += sign * job.characters;
    all.jobs += sign;
    all.characters += sign * job.characters;
    if (flow.jobs === 0) flows.delete(job.flow);
  };
  return {
    flows,
    share,
    count,
    isFull: ({ characters }) =>
      all.jobs >= limits.maxJobs || (all.jobs > 0 && all.characters + characters > limits.maxCharacters),
    largest: (least) => {
      let found: Flow<Job> | undefined;
      let most = least;
      for (const flow of flows.values()) {
        const size = share(flow.jobs, flow.characters);
        if (flow.waiting.length === 0 || size <= most) continue;
        [found, most] = [flow, size];
      }
      return found;
    },
    append: (job) => {
      const flow = flows.get(job.flow) ?? { jobs: 0, characters: 0, waiting: [] };
      flows.set(job.flow, flow);
      flow.waiting.push(job);
      count(flow, job, 1);
    },
  };
}

/** An empty queue. A job that is alone, or alone of its flow, is accepted however long it is. */
export function flowQueue<Job extends FlowJob>(limits: FlowQueueLimits): FlowQueue<Job> {
  const { flows, isFull, share, count, largest, append } = flowShares<Job>(limits);
  const makeRoom = (job: Job, own: number): readonly Job[] | "full" => {
    const displaced: Job[] = [];
    while (isFull(job)) {
      const flow = largest(own);
      const last = flow?.waiting.pop();
      if (flow === undefined || last === undefined) {
        for (const back of displaced.toReversed()) append(back);
        return "full";
      }
      count(flow, last, -1);
      displaced.push(last);
    }
    return displaced;
  };

  return {
    add: (job) => {
      const { jobs, characters } = flows.get(job.flow) ?? { jobs: 0, characters: 0 };
      const total = characters + job.characters;
      if (jobs >= limits.maxJobsOfFlow || (jobs > 0 && total > limits.maxCharactersOfFlow)) return "flow-full";
      const displaced = makeRoom(job, share(jobs + 1, total));
      if (displaced !== "full") append(job);
      return displaced;
    },
    next: () => {
      for (const { waiting } of flows.values()) {
        const job = waiting.shift();
        if (job !== undefined) return job;
      }
      return undefined;
    },
    end: (job) => {
      const flow = flows.get(job.flow);
      if (flow === undefined) return;
      flows.delete(job.flow);
      flows.set(job.flow, flow);
      count(flow, job, -1);
    },
    clear: () => {
      const waiting = [...flows.values()].flatMap((flow) => flow.waiting.splice(0));
      for (const job of waiting) {
        const flow = flows.get(job.flow);
        if (flow !== undefined) count(flow, job, -1);
      }
      return waiting;
    },
  };
}
