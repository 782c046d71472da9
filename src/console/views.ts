import type { ConsoleView } from './shell/view.ts';

/** The views in the order of the navigation. Each view has a folder in `views/` whose `index.tsx` exports the component as default. */
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
    who: 'Owners, admins, team leads and members can send requests here. Auditors can see the decisions.',
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
