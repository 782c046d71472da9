/** Whether the host of a URL, as `URL` gives it, is this machine: nothing on a network answers for it. */
export const isLoopbackHost = (hostname: string): boolean =>
  /^(?:(?:[^.]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname);
