import type { ComponentType } from 'preact';
import type { Action } from '../operate/roles.ts';

/** One of the seven words of the rail. */
export interface ConsoleView {
  /** Its folder in `src/console/views/`. */
  readonly name: string;
  readonly title: string;
  /** Below the console. */
  readonly path: string;
  /** Whether paths below its own are parts of it. */
  readonly hasParts?: true;
  /**
   * The range that it shows where the address states none: `all` is the shortest one with all data, `last` the one that this browser had
   * last. Absent where it shows no period.
   */
  readonly range?: 'all' | 'last';
  /** The action that opens it; null for every role. */
  readonly action: Action | null;
  /** The roles that it is open to, as a sentence for those who find it closed. */
  readonly who?: string;
  /** Its code comes when it is opened. */
  load(): Promise<{ readonly default: ComponentType }>;
}

/** The views, in the order of the rail. Each has a folder of its own in `views/`, whose `index.tsx` exports the component as default. */
export const VIEWS: readonly ConsoleView[] = [
  {
    name: 'overview',
    title: 'Overview',
    path: '/',
    range: 'all',
    action: null,
    load: () => import('./views/overview/index.tsx'),
  },
  {
    name: 'playground',
    title: 'Playground',
    path: '/playground',
    action: 'policy.explain',
    who: 'Owners, admins, team leads and members send requests there, and auditors see the decisions.',
    load: () => import('./views/playground/index.tsx'),
  },
  {
    name: 'requests',
    title: 'Requests',
    path: '/requests',
    range: 'last',
    hasParts: true,
    action: 'decisions.list',
    load: () => import('./views/requests/index.tsx'),
  },
  {
    name: 'policies',
    title: 'Policies',
    path: '/policies',
    hasParts: true,
    action: 'policy.read',
    load: () => import('./views/policies/index.tsx'),
  },
  {
    name: 'people',
    title: 'People',
    path: '/people',
    hasParts: true,
    action: 'people.read',
    load: () => import('./views/people/index.tsx'),
  },
  {
    name: 'money',
    title: 'Money',
    path: '/money',
    range: 'all',
    action: 'usage.read',
    load: () => import('./views/money/index.tsx'),
  },
  {
    name: 'fleet',
    title: 'Fleet',
    path: '/fleet',
    range: 'last',
    action: 'models.list',
    load: () => import('./views/fleet/index.tsx'),
  },
];
