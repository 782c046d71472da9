import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { x402Facilitator } from '@x402/core/facilitator';
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types';
import { toFacilitatorEvmSigner } from '@x402/evm';
import { ExactEvmScheme } from '@x402/evm/exact/facilitator';
import { createWalletClient, http, parseEther, publicActions } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { makePrefix, ownCalls } from '../../../support/own-server.ts';
import { freePort } from '../../../support/ports.ts';
import type { TestChain } from './chain.ts';

/**
 * How the service fails. A name that ends in `After` does its work first: the money has moved, but the caller gets no answer. `hang` and
 * `hangAfter` never answer; `reset` and `resetAfter` break the connection; `crashAfter` stops the service; `garbage` and `garbageAfter`
 * answer with invalid JSON; `wrong` answers with JSON of another form; `redirect` redirects elsewhere.
 */
export type ServiceFault =
  | 'status'
  | 'statusAfter'
  | 'hang'
  | 'hangAfter'
  | 'reset'
  | 'resetAfter'
  | 'crashAfter'
  | 'garbage'
  | 'garbageAfter'
  | 'wrong'
  | 'busy'
  | 'redirect';

export type ServicePath = '/supported' | '/verify' | '/settle';

interface ServiceRequest {
  path: string;
  authorization: string | undefined;
  /** The value of `Accept-Encoding`. */
  codings: string | undefined;
  body: string;
}

export interface FacilitatorServer {
  readonly url: string;
  /** The received requests in order, each with its path, some headers and its body. */
  readonly requests: Readonly<ServiceRequest>[];
  /** Sets a fault for one path or for all paths; null ends the fault. */
  fail(fault: ServiceFault | null, path?: ServicePath): void;
  /** Sets an answer in place of the service's own; undefined removes it. */
  answer(path: ServicePath, content: unknown): void;
  /** Sets a delay before each answer, ms. */
  slow(ms: number): void;
  /** Stops listening; `up` listens again. */
  down(): Promise<void>;
  up(): Promise<void>;
  stop(): Promise<void>;
}

export interface FacilitatorServerOptions {
  /** The token that the service requires as `Bearer …`; none by default. */
  readonly bearer?: string;
  /** The node for settlements; by default the chain's own. */
  readonly rpcUrl?: string;
}

/** Starts a service that settles on a test chain, with x402's own library and its own gas key. */
export async function startFacilitatorServer(
  chain: TestChain,
  options: FacilitatorServerOptions = {},
): Promise<FacilitatorServer> {
  const service = await serviceOn(chain, options.rpcUrl ?? chain.url);
  const requests: ServiceRequest[] = [];
  const answers = new Map<string, unknown>();
  let fault: { kind: ServiceFault; path: ServicePath | null } | null = null;
  let delayMs = 0;

  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    let body = '';
    for await (const piece of request) body += piece;
    const path = request.url ?? '';
    const { authorization, 'accept-encoding': codings } = request.headers;
    requests.push({ path, authorization, codings, body });
    const reply = (status: number, content: string, headers = {}) =>
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(content);
    if (delayMs > 0) await Bun.sleep(delayMs);
    if (options.bearer !== undefined && authorization !== `Bearer ${options.bearer}`) return reply(401, '{}');
    const kind = fault !== null && (fault.path ?? path) === path ? fault.kind : null;
    // A fault without `After` replaces the work.
    if (kind === null || kind.endsWith('After')) {
      const content = answers.has(path) ? answers.get(path) : await service(path, body);
      if (kind === null) return reply(content === undefined ? 404 : 200, JSON.stringify(content ?? {}));
    }
    if (kind === 'hang' || kind === 'hangAfter') return;
    if (kind === 'crashAfter') return void down();
    if (kind === 'reset' || kind === 'resetAfter') return response.destroy();
    if (kind === 'wrong') return reply(200, '{"isValid":"yes","success":"yes"}');
    if (kind === 'garbage' || kind === 'garbageAfter') return reply(200, '<html>');
    if (kind === 'busy') return reply(429, '{"error":"slow down"}');
    if (kind === 'redirect') return reply(307, '', { location: `${url}/elsewhere` });
    return reply(500, '{"error":"no"}');
  };

  const listen = async (port: number) => {
    const server = createServer(
      ownCalls(prefix, (request, response) => serve(request, response).catch(() => response.destroy())),
    );
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
    return server;
  };
  const prefix = makePrefix();
  const port = freePort();
  const url = `http://127.0.0.1:${port}${prefix}`;
  let server: Awaited<ReturnType<typeof listen>> | null = await listen(port);
  const down = async () => {
    const closing = server;
    server = null;
    if (closing === null) return;
    await new Promise<void>((resolve) => {
      closing.close(() => resolve());
      closing.closeAllConnections();
    });
  };
  return {
    url,
    requests,
    fail(kind, path) {
      fault = kind && { kind, path: path ?? null };
    },
    answer: (path, content) => void (content === undefined ? answers.delete(path) : answers.set(path, content)),
    slow(ms) {
      delayMs = ms;
    },
    down,
    async up() {
      server ??= await listen(port);
    },
    stop: down,
  };
}

/** Returns the service's function: an answer for a path and a body; undefined for an unknown path. */
async function serviceOn(chain: TestChain, rpcUrl: string) {
  const account = privateKeyToAccount(generatePrivateKey());
  await chain.client.setBalance({ address: account.address, value: parseEther('100') });
  const client = createWalletClient({
    account,
    chain: chain.client.chain,
    transport: http(rpcUrl),
    pollingInterval: 20,
  });
  const signer = toFacilitatorEvmSigner({ ...client.extend(publicActions), address: account.address } as Parameters<
    typeof toFacilitatorEvmSigner
  >[0]);
  const facilitator = new x402Facilitator().register(`eip155:${chain.chainId}`, new ExactEvmScheme(signer));
  return async (path: string, body: string): Promise<unknown> => {
    if (path === '/supported') return facilitator.getSupported();
    if (path !== '/verify' && path !== '/settle') return undefined;
    // The body that the library's own client sends.
    const asked = JSON.parse(body) as { paymentPayload: PaymentPayload; paymentRequirements: PaymentRequirements };
    if (path === '/verify') return facilitator.verify(asked.paymentPayload, asked.paymentRequirements);
    return facilitator.settle(asked.paymentPayload, asked.paymentRequirements);
  };
}
