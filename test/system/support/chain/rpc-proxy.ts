import { createServer, type Server, type ServerResponse } from 'node:http';
import { makePrefix, ownCalls } from '../../../support/own-server.ts';
import { freePort } from '../../../support/ports.ts';

/**
 * A fault between a client and its node. `error` answers each call with a JSON-RPC error; `cut` breaks the connection without forwarding
 * the call; `lost` forwards the call and then breaks the connection; `hang` never answers.
 */
export type RpcFault = 'error' | 'status' | 'garbage' | 'empty' | 'hang' | 'cut' | 'lost';

export interface RpcProxy extends AsyncDisposable {
  readonly url: string;
  /** Returns the number of calls so far, for one method or all. */
  count(method?: string): number;
  /** Sets a fault for the named methods, or for all. Null ends it. */
  fail(fault: RpcFault | null, ...methods: string[]): void;
  /** Answers calls of this method with this result instead of calling the node; undefined ends it. */
  answer(method: string, result: unknown): void;
  /** Refuses to search more blocks in one call, as public nodes do. */
  limitLogs(blocks: number): void;
  /** Stops listening; `up` listens again. */
  down(): Promise<void>;
  up(): Promise<void>;
  stop(): Promise<void>;
}

/** A call as clients send it. */
interface Call {
  readonly id: unknown;
  readonly method: string;
  readonly params: readonly { readonly fromBlock?: string; readonly toBlock?: string }[];
}

/** Starts a proxy to a node that a test can make fail in every way. */
export async function startRpcProxy(target: string): Promise<RpcProxy> {
  const counts = new Map<string, number>();
  const answers = new Map<string, unknown>();
  let fault: RpcFault | null = null;
  let faulty: readonly string[] = [];
  let blocksMax = Number.POSITIVE_INFINITY;

  const serve = async (body: string, response: ServerResponse) => {
    const { id, method, params } = JSON.parse(body) as Call;
    counts.set(method, (counts.get(method) ?? 0) + 1);
    const reply = (status: number, text: string) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(text);
    if (answers.has(method)) return reply(200, JSON.stringify({ jsonrpc: '2.0', id, result: answers.get(method) }));
    const failing = fault !== null && (faulty.length === 0 || faulty.includes(method)) ? fault : null;
    if (failing === 'hang') return;
    if (failing === 'cut') return response.destroy();
    if (failing === 'garbage') return reply(200, '<html>');
    if (failing === 'empty') return reply(200, '{}');
    if (failing === 'status') return reply(500, 'no');
    if (failing === 'error') {
      return reply(200, JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32603, message: 'Internal error' } }));
    }
    if (method === 'eth_getLogs' && Number(params[0]?.toBlock) - Number(params[0]?.fromBlock) >= blocksMax) {
      return reply(200, JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32602, message: 'range too wide' } }));
    }
    const answered = await fetch(target, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
    const text = await answered.text();
    if (failing === 'lost') return response.destroy();
    return reply(answered.status, text);
  };

  const listen = (port: number): Promise<Server> => {
    const server = createServer(
      ownCalls(prefix, async (request, response) => {
        let body = '';
        for await (const piece of request) body += piece;
        await serve(body, response).catch(() => response.destroy());
      }),
    );
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => resolve(server));
    });
  };
  const close = (server: Server) =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });

  const prefix = makePrefix();
  const port = freePort();
  let server: Server | null = await listen(port);
  const down = async () => {
    if (server) await close(server);
    server = null;
  };
  return {
    url: `http://127.0.0.1:${port}${prefix}`,
    count: (method) =>
      method === undefined ? [...counts.values()].reduce((sum, one) => sum + one, 0) : (counts.get(method) ?? 0),
    fail(next, ...methods) {
      fault = next;
      faulty = methods;
    },
    answer: (method, result) => void (result === undefined ? answers.delete(method) : answers.set(method, result)),
    limitLogs(blocks) {
      blocksMax = blocks;
    },
    down,
    async up() {
      server ??= await listen(port);
    },
    stop: down,
    [Symbol.asyncDispose]: down,
  };
}
