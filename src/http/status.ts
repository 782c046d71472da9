import { Elysia } from 'elysia';
import { type ClusterStatus, clusterBody } from '../operate/cluster.ts';
import { endpointStatus, endpointsBody } from '../operate/endpoints.ts';
import { type InstanceStatus, instanceBody } from '../operate/instance.ts';
import type { Principal } from '../operate/principal.ts';
import { type ScoreStatus, scoresBody } from '../operate/scores.ts';
import type { Health } from '../upstream/health/health.ts';
import { routeDocs } from './docs/route-docs.ts';
import type { RouteServices } from './route-services.ts';
import * as schemas from './schemas/status.ts';

/** The sources of a server's status that only the running process knows. */
export interface StatusSources {
  readonly health: Pick<Health, 'samples'>;
  instance(by: Principal): InstanceStatus;
  /** Rejects with StoreError. */
  cluster(by: Principal): Promise<ClusterStatus>;
  /** Rejects with StoreError. */
  learning(by: Principal): Promise<ScoreStatus>;
}

/** `GET /admin/status`, `GET /admin/cluster`, `GET /admin/endpoints` and `GET /admin/learning`. */
export const statusRoutes = ({ principalOf }: Pick<RouteServices, 'principalOf'>, sources: StatusSources) =>
  new Elysia({ name: 'status' })
    .get(
      '/admin/status',
      ({ request }) => instanceBody(sources.instance(principalOf(request))),
      routeDocs({
        access: 'status.read',
        summary: 'This server at its database',
        description:
          'Returns the place of this server among those of its database, and the age of what it keeps in memory. Where the server may not write any more, `problem` says what happened and what to do.',
        answer: { schema: schemas.InstanceStatus, description: 'The status.' },
      }),
    )
    .get(
      '/admin/cluster',
      async ({ request }) => clusterBody(await sources.cluster(principalOf(request))),
      routeDocs({
        access: 'status.read',
        summary: 'The servers at the database',
        description:
          'Returns every server that runs at this database, as it last reported: the policy in force there, why a later one is not, its version and its clock. `./signalbox instances` shows the same.',
        answer: { schema: schemas.ClusterStatus, description: 'The servers.' },
      }),
    )
    .get(
      '/admin/endpoints',
      ({ request }) => endpointsBody(endpointStatus(principalOf(request), sources.health)),
      routeDocs({
        access: 'endpoints.read',
        summary: 'Health of endpoints',
        description:
          'Returns the state, circuit breaker, speed and attempts of every endpoint of the policy in force, with the speed that the policy declares. Counts begin with the start of this server; speeds are recent.',
        answer: { schema: schemas.EndpointList, description: 'The endpoints.' },
      }),
    )
    .get(
      '/admin/learning',
      async ({ request }) => scoresBody(await sources.learning(principalOf(request))),
      routeDocs({
        access: 'learning.read',
        summary: 'Scores by model and task',
        description:
          'Returns how many scores are stored, and their means by model and task. `./signalbox learn status` shows the same figures. The members `mode`, `estimator`, `examples`, `checkpoint`, `brier`, `keys` and `faults` have no meaning any more and always have the same value.',
        answer: { schema: schemas.LearningStatus, description: 'The status.' },
      }),
    );
