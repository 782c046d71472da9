import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { SignalboxError } from '../core/errors.ts';
import { routeDocs } from './kit/route-docs.ts';

const TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** `/metrics` in the format of Prometheus; `page` is null if metrics are off. The page names providers and models, but no key or prompt. */
export const metricsRoutes = (page: (() => string) | null) =>
  new Elysia({ name: 'metrics' }).get(
    '/metrics',
    () => {
      if (!page)
        throw new SignalboxError(
          'not_found',
          'This server has no metrics at this address. They are switched off, or at the --metrics-port of its processes.',
        );
      return new Response(page(), { headers: { 'content-type': TYPE } });
    },
    METRICS,
  );

const METRICS = routeDocs({
  summary: 'Metrics',
  description:
    'Counters, gauges and histograms in the text format of Prometheus. 404 when the server was started with `--metrics off`.',
  tag: 'Health',
  access: 'open',
  answer: {
    schema: Type.String(),
    mediaType: 'text/plain',
    description: 'All families.',
    example:
      '# HELP signalbox_policy_info The policy in force.\n# TYPE signalbox_policy_info gauge\nsignalbox_policy_info{revision="95f1a7d5f908027b"} 1\n',
  },
  errors: ['not_found', 'rate_limit_exceeded'],
});
