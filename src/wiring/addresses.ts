// The addresses of this gateway: the configured public ones, or those that this process listens on.

import { withoutLogin } from '../kernel/url-parts.ts';
import type { EmbeddedBroker } from '../link/channels/mqtt/embedded-broker.ts';
import type { Config } from '../settings.ts';

export interface Addresses {
  /** {base_url} for callers. */
  baseUrl: string;
  mqttUrl: string;
  /** The embedded broker's address without TLS, if any: for virtual devices in the sandbox, which do not trust its certificate. */
  mqttPlainUrl: string | undefined;
  queueUrl: string;
}

/** Prefers TLS. */
export function addressesOf(
  config: Config,
  listeningUrl: string,
  broker: Pick<EmbeddedBroker, 'port' | 'securePort'> | undefined,
): Addresses {
  const baseUrl = config.publicUrl ?? listeningUrl;
  const { hostname } = new URL(baseUrl);
  const mqttPlainUrl = broker?.port === undefined ? undefined : `mqtt://${hostname}:${broker.port}`;
  const mqttsUrl = broker?.securePort === undefined ? undefined : `mqtts://${hostname}:${broker.securePort}`;
  return {
    baseUrl,
    mqttUrl: config.mqttPublicUrl ?? (config.mqttUrl && withoutLogin(config.mqttUrl)) ?? mqttsUrl ?? mqttPlainUrl ?? '',
    mqttPlainUrl,
    queueUrl: config.queuePublicUrl ?? (config.queueUrl && withoutLogin(config.queueUrl)) ?? `${baseUrl.replace(/^http/, 'ws')}/queue`,
  };
}
