import { Elysia } from 'elysia';
import { endpointStatus, endpointsBody } from '../operate/endpoints.ts';
import { type InstanceStatus, instanceBody } from '../operate/instance.ts';
import { type LearningStatus, learningBody } from '../operate/learning/status.ts';
import type { Health } from '../upstream/health/health.ts';
import { routeDocs } from './docs/route-docs.ts';
import * as schemas from './schemas/status.ts';

/** The sources of a server's status that only the running process knows. */
export interface StatusSources {
  readonly health: Pick<Health, 'samples'>;
  instance(): InstanceStatus;
  /** Rejects with StoreError. */
  learning(): Promise<LearningStatus>;
}

/** `GET /admin/status`, `GET /admin/endpoints` and `GET /admin/learning`. */
export const statusRoutes = (sources: StatusSources) =>
  new Elysia({ name: 'status' })
    .get(
      '/admin/status',
      () => instanceBody(sources.instance()),
      routeDocs({
        access: 'status.read',
        summary: 'This server at its database',
        description:
          'Returns the place of this server among those of its database, and the age of what it keeps in memory. Where the server may not write any more, `problem` says what happened and what to do.',
        answer: { schema: schemas.InstanceStatus, description: 'The status.' },
      }),
    )
    .get(
      '/admin/endpoints',
      () => endpointsBody(endpointStatus(sources.health)),
      routeDocs({
        access: 'endpoints.read',
        summary: 'Health of endpoints',
        description:
          'Returns the state, speed and attempts of every endpoint of the policy in force. Counts begin with the start of this server; speeds are recent.',
        answer: { schema: schemas.EndpointList, description: 'The endpoints.' },
      }),
    )
    .get(
      '/admin/learning',
      async () => learningBody(await sources.learning()),
      routeDocs({
        access: 'learning.read',
        summary: 'Results of learning',
        description:
          'Returns the stored outcomes, the changes that they made to the quality of each model, and the keys that they came from. `./signalbox learn status` shows the same figures.',
        answer: { schema: schemas.LearningStatus, description: 'The status.' },
      }),
    );
