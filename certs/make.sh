#!/bin/sh
# Makes the certificates of the tests again. Nothing here is secret, and nothing should trust it:
#   ca.pem          a test authority (its key is thrown away)
#   agent.pem/.key  for localhost, 127.0.0.1, ::1 and agent.test, signed by it
#   name.pem/.key   for other.test only, signed by it
#   stranger.pem/.key  for localhost and 127.0.0.1, signed by itself
set -eu
cd "$(dirname "$0")"

openssl ecparam -name prime256v1 -genkey -noout -out ca.key
openssl req -x509 -new -key ca.key -sha256 -days 36500 -subj "/CN=Meddler test CA" \
    -addext "basicConstraints=critical,CA:TRUE,pathlen:0" \
    -addext "keyUsage=critical,keyCertSign,cRLSign" -out ca.pem

leaf() { # name, subjectAltName
    openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out "$1.key"
    openssl req -new -key "$1.key" -subj "/CN=$1" -out "$1.csr"
    printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth\nbasicConstraints=CA:FALSE\n' "$2" >"$1.ext"
    openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -sha256 -days 36500 \
        -extfile "$1.ext" -out "$1.pem"
    rm "$1.csr" "$1.ext"
}

leaf agent "DNS:localhost,DNS:agent.test,IP:127.0.0.1,IP:::1"
leaf name "DNS:other.test"

openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out stranger.key
openssl req -x509 -new -key stranger.key -sha256 -days 36500 -subj "/CN=stranger" \
    -addext "subjectAltName=DNS:localhost,IP:127.0.0.1" -addext "basicConstraints=critical,CA:FALSE" \
    -out stranger.pem

rm -f ca.key ca.srl
