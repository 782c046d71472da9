import { describe, expect, test } from 'bun:test';
import { SignalboxError } from '../../src/core/errors.ts';
import type { Funding } from '../../src/money/funding.ts';
import type { Gateway } from '../../src/request/gateway.ts';
import { type NamedRun, type PipelineEdge, serveRequest } from '../../src/request/pipeline.ts';
import { chatRequest } from '../support/model-request.ts';
import { contextWith } from '../support/request-context.ts';

const refused = new SignalboxError('payment_required', 'Pay first.');

/** A request whose steps are noted, with ends that answer as given. */
function way({ isDraining = false, ends = {} }: { isDraining?: boolean; ends?: Partial<PipelineEdge<string>> }) {
  const steps: string[] = [];
  const funding = {
    terms() {
      steps.push('terms');
      throw new Error('nobody pays');
    },
    async mend() {
      steps.push('mend');
      return refused;
    },
  } as unknown as Funding;
  const run: NamedRun = {
    kind: 'run',
    claim: { begin: async () => {} },
    toTheEnd: false,
    async drop() {
      steps.push('drop');
    },
    keep: (exchange) => exchange,
  };
  const edge: PipelineEdge<string> = {
    read() {
      steps.push('read');
      return chatRequest();
    },
    async fund() {
      steps.push('fund');
      return funding;
    },
    async claim() {
      steps.push('claim');
      return run;
    },
    async write() {
      steps.push('write');
      return 'answered';
    },
    ...ends,
  };
  const gateway = { draining: () => isDraining, clock: () => 0 } as unknown as Gateway;
  const serve = () => serveRequest(gateway, contextWith(), edge).catch((error: unknown) => error);
  return { serve, steps };
}

describe('the pipeline', () => {
  test('refuses a body that cannot be read before anything else is done', async () => {
    const unreadable = new SignalboxError('invalid_value', 'no');
    const { serve, steps } = way({
      ends: {
        read() {
          throw unreadable;
        },
      },
    });
    expect([await serve(), steps]).toEqual([unreadable, []]);
  });

  test('gives an earlier answer again without deciding or money', async () => {
    const { serve, steps } = way({ ends: { claim: async () => ({ kind: 'stored', answer: 'again' }) } });
    expect([await serve(), steps]).toEqual(['again', ['read', 'fund']]);
  });

  test('gives the name of a request back that ends before its exchange, after its error is mended', async () => {
    const { serve, steps } = way({});
    expect([await serve(), steps]).toEqual([refused, ['read', 'fund', 'claim', 'terms', 'mend', 'drop']]);
  });

  test('carries nothing out while the gateway shuts down, and asks for no payment', async () => {
    const { serve, steps } = way({ isDraining: true });
    expect(await serve()).toMatchObject({ code: 'overloaded' });
    expect(steps).toEqual(['read', 'fund', 'claim', 'drop']);
  });
});
