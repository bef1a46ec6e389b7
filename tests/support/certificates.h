// Makes a CA, a server certificate for 127.0.0.1/localhost and a client certificate, as PEM files in a fresh
// folder.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace dripgate::testing {

using KeyPtr = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using CertPtr = std::unique_ptr<X509, decltype(&X509_free)>;

struct Certificates {
  std::string folder;
  std::string ca, cert, key, client_cert, client_key, other_ca;

  Certificates() {
    char path[] = "/tmp/dripgate-tls-XXXXXX";
    folder = ::mkdtemp(path);
    const KeyPtr ca_key = make_key();
    const CertPtr ca_cert = make_cert("dripgate test CA", *ca_key, nullptr, *ca_key, "");
    ca = write_cert("ca.pem", *ca_cert);
    make_leaf("server", "IP:127.0.0.1,DNS:localhost", *ca_cert, *ca_key, cert, key);
    make_leaf("ops", "", *ca_cert, *ca_key, client_cert, client_key);
    const KeyPtr other_key = make_key();
    other_ca = write_cert("other.pem", *make_cert("another CA", *other_key, nullptr, *other_key, ""));
  }
  ~Certificates() {
    for (const auto& file : {ca, cert, key, client_cert, client_key, other_ca}) std::remove(file.c_str());
    std::remove(folder.c_str());
  }
  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;

 private:
  static KeyPtr make_key() { return {EVP_EC_gen("P-256"), &EVP_PKEY_free}; }

  static void add_extension(X509& certificate, int nid, const std::string& value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
    X509_add_ext(&certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }

  static CertPtr make_cert(const std::string& name, EVP_PKEY& subject_key, const X509* issuer,
                           EVP_PKEY& signer, const std::string& alternative_names) {
    static long serial = 1;
    CertPtr made(X509_new(), &X509_free);
    X509_set_version(made.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), serial++);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), 86'400);
    X509_set_pubkey(made.get(), &subject_key);
    X509_NAME* subject = X509_get_subject_name(made.get());
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    X509_set_issuer_name(made.get(), issuer != nullptr ? X509_get_subject_name(issuer) : subject);
    if (issuer == nullptr) add_extension(*made, NID_basic_constraints, "critical,CA:TRUE");
    if (!alternative_names.empty()) add_extension(*made, NID_subject_alt_name, alternative_names);
    X509_sign(made.get(), &signer, EVP_sha256());
    return made;
  }

  std::string write_cert(const std::string& name, X509& certificate) {
    const std::string path = folder + "/" + name;
    FILE* file = std::fopen(path.c_str(), "w");
    PEM_write_X509(file, &certificate);
    std::fclose(file);
    return path;
  }

  void make_leaf(const std::string& name, const std::string& alternative_names, const X509& issuer,
                 EVP_PKEY& signer, std::string& cert_path, std::string& key_path) {
    const KeyPtr leaf_key = make_key();
    cert_path = write_cert(name + ".pem", *make_cert(name, *leaf_key, &issuer, signer, alternative_names));
    key_path = folder + "/" + name + ".key";
    FILE* file = std::fopen(key_path.c_str(), "w");
    PEM_write_PrivateKey(file, leaf_key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(file);
  }
};

}  // namespace dripgate::testing
