/**
 * Who asks. `owner`: may everything; keys with the scope `admin` are owners. `admin`: all but admin keys, owners and admins. `finance`:
 * sees money. `auditor`: sees all and changes nothing. `lead`: leads its team. `member`: has keys and usage of its own. `report`:
 * reads figures of all. `caller`: an application, for itself.
 */
export const ROLES = ['owner', 'admin', 'finance', 'auditor', 'lead', 'member', 'report', 'caller'] as const;
export type Role = (typeof ROLES)[number];
