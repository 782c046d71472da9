import { describe, expect, test } from 'bun:test';
import { SignalboxError } from '../../../src/core/errors.ts';
import type { Funding } from '../../../src/gateway/money/funding.ts';
import type { Gateway } from '../../../src/gateway/request/gateway.ts';
import { serveRequest } from '../../../src/gateway/request/pipeline.ts';
import { chatRequest } from '../../support/model-request.ts';
import { contextWith } from '../../support/request-context.ts';

const refused = new SignalboxError('payment_required', 'Pay first.');

/** A request that nobody pays for, and the steps that its funding was asked for. */
async function served({ isDraining }: { isDraining: boolean }) {
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
  const gateway = { isDraining, clock: () => 0 } as unknown as Gateway;
  const request = { request: chatRequest(), context: contextWith(), funding, named: null };
  const error = await serveRequest(gateway, request).catch((cause: unknown) => cause);
  return { error, steps };
}

describe('the pipeline', () => {
  test('answers the mended error of a request that ends before its exchange', async () => {
    expect(await served({ isDraining: false })).toEqual({ error: refused, steps: ['terms', 'mend'] });
  });

  test('carries nothing out while the gateway shuts down, and asks for no payment', async () => {
    const { error, steps } = await served({ isDraining: true });
    expect([error, steps]).toMatchObject([{ code: 'overloaded' }, []]);
  });
});
