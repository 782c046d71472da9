import { Elysia } from 'elysia';
import { endpointStatus, endpointsBody } from '../operate/endpoints.ts';
import { type LearningStatus, learningBody } from '../operate/learning/status.ts';
import type { Health } from '../upstream/health/health.ts';
import { routeDocs } from './docs/route-docs.ts';
import * as schemas from './schemas/status.ts';

/** The sources of a server's status that only the running process knows. */
export interface StatusSources {
  readonly health: Pick<Health, 'samples'>;
  /** Rejects with StoreError. */
  learning(): Promise<LearningStatus>;
}

/** `GET /admin/endpoints` and `GET /admin/learning`. */
export const statusRoutes = (sources: StatusSources) =>
  new Elysia({ name: 'status' })
    .get(
      '/admin/endpoints',
      () => endpointsBody(endpointStatus(sources.health)),
      routeDocs({
        access: 'admin',
        summary: 'Health of endpoints',
        description:
          'State, speed and attempts of every endpoint of the policy in force. Figures are of this server since its start; those of speed are of late.',
        answer: { schema: schemas.EndpointList, description: 'The endpoints.' },
      }),
    )
    .get(
      '/admin/learning',
      async () => learningBody(await sources.learning()),
      routeDocs({
        access: 'admin',
        summary: 'Results of learning',
        description:
          'The outcomes that are stored, what they have changed of each model’s quality, and the keys that they came from. The figures are those of `signalbox learn status`.',
        answer: { schema: schemas.LearningStatus, description: 'The status.' },
      }),
    );
