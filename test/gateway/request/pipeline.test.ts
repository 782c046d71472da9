import { describe, expect, test } from 'bun:test';
import { SignalboxError } from '../../../src/core/errors.ts';
import type { Funding } from '../../../src/gateway/money/funding.ts';
import type { Gateway } from '../../../src/gateway/request/gateway.ts';
import { openPipeline } from '../../../src/gateway/request/pipeline.ts';
import { NO_STEPS } from '../../../src/gateway/request/steps.ts';
import { chatRequest } from '../../support/model-request.ts';
import { contextWith } from '../../support/request-context.ts';

const refused = new SignalboxError('payment_required', 'Pay first.');

/** Serves a request without a payer. Returns the result and the calls to its funding. */
async function served({ isDraining }: { isDraining: boolean }) {
  const steps: string[] = [];
  const funding = {
    terms() {
      steps.push('terms');
      throw new Error('no one pays');
    },
    async mend() {
      steps.push('mend');
      return refused;
    },
  } as unknown as Funding;
  const gateway = { isDraining, clock: () => 0, renewedPrices: () => null } as unknown as Gateway;
  const request = {
    request: chatRequest(),
    context: contextWith(),
    funding,
    fundingNow: async () => funding,
    secretOf: () => null,
    named: null,
  };
  const error = await openPipeline(gateway, () => NO_STEPS)
    .serve(request)
    .catch((cause: unknown) => cause);
  return { error, steps };
}

describe('the pipeline', () => {
  test('a request that ends before its exchange gets the error that its funding has completed with payment terms', async () => {
    expect(await served({ isDraining: false })).toEqual({ error: refused, steps: ['terms', 'mend'] });
  });

  test('no request is carried out while the gateway shuts down, and no payment is requested', async () => {
    const { error, steps } = await served({ isDraining: true });
    expect([error, steps]).toMatchObject([{ code: 'overloaded' }, []]);
  });
});
