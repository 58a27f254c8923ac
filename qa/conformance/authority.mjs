// An authorization server for `authority.py`: oidc-provider, with a user who agrees to everything.
//
// usage: node authority.mjs PORT     (prints "ready" when it listens)

import http from 'node:http';
import Provider from 'oidc-provider';

const port = Number(process.argv[2]);
const issuer = `http://127.0.0.1:${port}`;
const SCOPES = 'notes:read notes:write';

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: 'robot',
      client_secret: 'robot-secret-0123456789-0123456789',
      token_endpoint_auth_method: 'client_secret_basic',
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    },
  ],
  scopes: ['openid', 'offline_access', ...SCOPES.split(' ')],
  pkce: { required: () => true },
  // Native clients get refresh tokens with the scope offline_access.
  clientDefaults: { token_endpoint_auth_method: 'none' },
  cookies: { keys: ['for these tests alone'] },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  ttl: { AccessToken: 600, Grant: 3600, Interaction: 600, Session: 3600, RefreshToken: 3600 },
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    revocation: { enabled: true },
    clientCredentials: { enabled: true },
    deviceFlow: { enabled: true },
    dPoP: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope: SCOPES,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
});

// Logs the user in and grants what is asked for, as a person would on two pages.
async function agree(request, response) {
  const details = await provider.interactionDetails(request, response);
  const { prompt, params, session, grantId } = details;
  if (prompt.name === 'login') {
    await provider.interactionFinished(request, response, { login: { accountId: 'anna' } });
    return;
  }
  const grant = grantId
    ? await provider.Grant.find(grantId)
    : new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  const { missingOIDCScope, missingResourceScopes } = prompt.details;
  if (missingOIDCScope) grant.addOIDCScope(missingOIDCScope.join(' '));
  for (const [resource, scopes] of Object.entries(missingResourceScopes ?? {})) {
    grant.addResourceScope(resource, scopes.join(' '));
  }
  await provider.interactionFinished(request, response, {
    consent: { grantId: await grant.save() },
  });
}

const serve = provider.callback();
http
  .createServer((request, response) => {
    if (!request.url.startsWith('/interaction/')) return serve(request, response);
    agree(request, response).catch((error) => {
      console.error(error);
      response.writeHead(500).end();
    });
  })
  .listen(port, '127.0.0.1', () => console.log('ready'));
