// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import XML

/// The elements of an MPD that have references, or elements with references in them.
///
/// Source: ISO/IEC 23009-1 §5.3, §5.10, §5.11, §5.15 and Annex I; its sixth edition for imported and alternative MPDs.
enum MPDName: Int, CaseIterable {
    case mpd, period, adaptationSet, emptyAdaptationSet, representation
    case subRepresentation, preselection
    case segmentBase, segmentList, segmentTemplate, segmentURL
    case initialization, representationIndex, bitstreamSwitching, initializationSet
    case essentialProperty, supplementalProperty, urlQueryInfo, extURLQueryInfo
    case utcTiming, producerReferenceTime, serviceDescription
    case eventStream, insertPresentation, replacePresentation
    // Elements of which the text is a reference.
    case baseURL, location, patchLocation, contentSteering, importedMPD, event

    /// The first of those of which the text is read.
    private static let firstText = MPDName.baseURL.rawValue

    private var name: StaticString {
        switch self {
        case .mpd: "MPD"
        case .period: "Period"
        case .adaptationSet: "AdaptationSet"
        case .emptyAdaptationSet: "EmptyAdaptationSet"
        case .representation: "Representation"
        case .subRepresentation: "SubRepresentation"
        case .preselection: "Preselection"
        case .segmentBase: "SegmentBase"
        case .segmentList: "SegmentList"
        case .segmentTemplate: "SegmentTemplate"
        case .segmentURL: "SegmentURL"
        case .initialization: "Initialization"
        case .representationIndex: "RepresentationIndex"
        case .bitstreamSwitching: "BitstreamSwitching"
        case .initializationSet: "InitializationSet"
        case .essentialProperty: "EssentialProperty"
        case .supplementalProperty: "SupplementalProperty"
        case .urlQueryInfo: "UrlQueryInfo"
        case .extURLQueryInfo: "ExtUrlQueryInfo"
        case .utcTiming: "UTCTiming"
        case .producerReferenceTime: "ProducerReferenceTime"
        case .serviceDescription: "ServiceDescription"
        case .eventStream: "EventStream"
        case .event: "Event"
        case .insertPresentation: "InsertPresentation"
        case .replacePresentation: "ReplacePresentation"
        case .importedMPD: "ImportedMPD"
        case .baseURL: "BaseURL"
        case .location: "Location"
        case .patchLocation: "PatchLocation"
        case .contentSteering: "ContentSteering"
        }
    }

    /// False for elements that the sixth edition or its events have, whose names those of other namespaces may have.
    var isOfEarlierEdition: Bool {
        switch self {
        case .eventStream, .event, .insertPresentation, .replacePresentation, .importedMPD: false
        default: true
        }
    }

    /// The elements and attributes to look for.
    static let selection = XMLSelection(
        elements: allCases[..<firstText].map(\.name),
        texts: allCases[firstText...].map(\.name),
        attributes: MPDAttribute.allCases.map(\.name),
        linkNamespace: "http://www.w3.org/1999/xlink"
    )
}

/// The attributes of an MPD that are references, or determine the meaning of a reference.
enum MPDAttribute: Int, CaseIterable {
    case media, initialization, index, bitstreamSwitching, sourceURL
    case value, schemeIdUri, id, byteRange, queryTemplate, useMPDUrlQuery, href
    case uri, url, messageData, contentEncoding

    fileprivate var name: StaticString {
        switch self {
        case .media: "media"
        case .initialization: "initialization"
        case .index: "index"
        case .bitstreamSwitching: "bitstreamSwitching"
        case .sourceURL: "sourceURL"
        case .value: "value"
        case .schemeIdUri: "schemeIdUri"
        case .id: "id"
        case .byteRange: "byteRange"
        case .queryTemplate: "queryTemplate"
        case .useMPDUrlQuery: "useMPDUrlQuery"
        case .href: "href"
        case .uri: "uri"
        case .url: "url"
        case .messageData: "messageData"
        case .contentEncoding: "contentEncoding"
        }
    }
}
