/** Workers that answer each message with one message and keep nothing that another answer depends on. */
const REUSED = ['parse-worker.ts', 'count-worker.ts', 'audit-worker.ts', 'examine-worker.ts'];
/** The most idle workers of a file: as many as one server has to parse policies. */
const IDLE_MAX = 3;

/**
 * Lets all servers of a test process use the same workers, one after the other: a server that ends an idle worker leaves it to the next
 * server. The start of a worker takes a quarter of a second of CPU, mostly to load its modules. A worker that has not answered yet really
 * ends.
 */
export function reuseWorkers(): void {
  const { Worker: StartedWorker } = globalThis;
  const idleWorkers = new Map<string, Worker[]>();

  function start(address: string, idle: Worker[]): Worker {
    const worker = new StartedWorker(address);
    let unanswered = 0;
    const { postMessage, terminate } = worker;
    worker.addEventListener('message', () => unanswered--);
    worker.postMessage = (message: unknown) => {
      unanswered++;
      postMessage.call(worker, message);
    };
    worker.terminate = () => {
      if (idle.includes(worker)) return;
      if (unanswered > 0 || idle.length >= IDLE_MAX) return terminate.call(worker);
      worker.onmessage = null;
      worker.onerror = null;
      worker.unref();
      idle.push(worker);
    };
    return worker;
  }

  function startOrReuse(address: string): Worker {
    const idle = idleWorkers.get(address) ?? [];
    idleWorkers.set(address, idle);
    const worker = idle.pop();
    worker?.ref();
    return worker ?? start(address, idle);
  }

  const Reused: typeof Worker = new Proxy(StartedWorker, {
    construct(target, args, newTarget) {
      const [address, ...options] = args;
      const name = String(address);
      const isReused = options.length === 0 && newTarget === Reused && REUSED.some((file) => name.endsWith(file));
      return isReused ? startOrReuse(name) : Reflect.construct(target, args, newTarget);
    },
  });
  globalThis.Worker = Reused;
}
